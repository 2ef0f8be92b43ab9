"""Mutants of what is read beside the weights: how answers are decoded, texts are cut, and weights are loaded."""

from tests.mutants import of

decoding = of("byheart/hosts/decoding.py", "tests/byheart/hosts/test_decoding.py")
tokenizer = of("byheart/hosts/facts/host_tokenizer.py", "tests/byheart/hosts/facts/test_host_tokenizer.py")
texts = of("byheart/hosts/facts/prompt_texts.py", "tests/byheart/hosts/facts/test_host_tokenizer.py")
certify = of("byheart/hosts/certify.py", "tests/contract/test_foreign_folders.py")
given = of("byheart/hosts/questions/given.py", "tests/contract/test_foreign_folders.py")
handshake = of("byheart/hosts/handshake.py", "tests/contract/test_foreign_folders.py")
reading = of("byheart/hosts/reading.py", "tests/contract/test_foreign_folders.py")

MUTANTS = [
    decoding("    if changes and not plain_argmax:", "    if False:", "what generate changes is not refused"),
    decoding("    if name not in _FIELDS:", "    if False:", "a field that nobody knows has no effect"),
    decoding("not ends.isdisjoint(answer[:-1])", "False", "an end inside of an answer is passed over"),
    decoding("len(answer) + before * prompt > value", "False", "a limit that cuts an answer is passed over"),
    decoding("if fields.get(_SAMPLES) is True:", "if False:", "sampling is not named"),
    decoding("and pad not in ends:", "and False:", "a pad in prompts is not named"),
    decoding("isinstance(value, bool) == isinstance(usual, bool)", "True", "a truth value is a number"),
    decoding("    if is_of_transformer_lens(config):", "    if False:", "files of another library are read"),
    tokenizer(
        "if any(value is not followed for followed in expected.get(name) or [False]):",
        "if False:",
        "fields are not named",
    ),
    tokenizer('given is None), ""', 'False), ""', "a cut that differs is not refused"),
    tokenizer('known.get(str(number)) == x.get("content")', "True", "tokens that are added are known"),
    texts("        if host is not None:", "        if False:", "nobody is asked how texts are cut"),
    texts("bare == list(tokens[start:])", "True", "what is put last may be anything"),
    texts("(*begins, *encoding.ids[start:stop])", "tuple(encoding.ids[:stop])", "nothing is put first"),
    given(
        "        _require_loaded_exactly(Path(source), options)\n", "", "weights may be rounded when they are loaded"
    ),
    given("and not stored_as_linear(config, ours)", "", "names turn every linear map round"),
    certify("if ignored and not (agreeing", "if False and not (agreeing", "a field is ignored though nobody agrees"),
    handshake("self.gap <= _SHARE * margin)", "True)", "a host that differs by the margin agrees"),
    handshake("_SHARE * margin < self.allowed", "False", "what passes is more than the line says"),
    reading("if known := sorted(set(ignored) - set(unknown)):", "if known := []:", "a field that is read is ignored"),
    reading("exact = False\n", "exact = True\n", "a number beyond the range of the type is one of it"),
]
