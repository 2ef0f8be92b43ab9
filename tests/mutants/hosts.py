"""Mutants of what is read from elsewhere: an option, a size or a name that is no longer looked at."""

from tests.mutants import Mutant, of

GPT2 = "tests/byheart/hosts/families/test_gpt2.py"
READING = "tests/byheart/hosts/test_reading.py"
LENS = "tests/byheart/hosts/exported/test_transformer_lens.py"
KNOWN = "tests/byheart/hosts/families/test_known_options.py"


def gpt2(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("byheart/hosts/families/gpt2.py", original, mutated, GPT2, f"of GPT-2, {why}")


def lens(original: str, mutated: str, why: str, tests: str = READING) -> Mutant:
    path = "byheart/hosts/exported/transformer_lens.py"
    return Mutant(path, original, mutated, tests, f"of TransformerLens, {why}")


def own(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("byheart/hosts/exported/huggingface.py", original, mutated, READING, f"of our own export, {why}")


known = of("byheart/hosts/families/known_options.py", KNOWN)


def read(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("byheart/hosts/reading.py", original, mutated, READING, f"of our own options, {why}")


def shaped(original: str, mutated: str, why: str) -> Mutant:
    tests = "tests/byheart/hosts/exported/test_gpt2.py"
    return Mutant("byheart/hosts/exported/gpt2.py", original, mutated, tests, f"written as GPT-2, {why}")


again = of("byheart/hosts/exported_folder.py", "tests/byheart/hosts/test_exported_folder.py")


MUTANTS = [
    again("if stored != expected:", "if False:", "an export may have any card"),
    again("if type(figures[figure]) is not int or figures[figure] < 0:", "if False:", "a run may hold anything"),
    again(
        "if foreign := [name for name in files_of(folder) if not (again / name).is_file()]:",
        "if foreign := []:",
        "an export may hold any file",
    ),
    shaped("-(2.0 ** (4 + math.ceil(math.log2(1 + largest))))", "0.0", "what is never answered may be"),
    shaped("np.moveaxis(tensor, axis, -1) / 2", "np.moveaxis(tensor, axis, -1)", "each copy is read whole"),
    shaped("[tensor, -tensor]", "[tensor, tensor]", "the mean is not 0"),
    known(
        "if unknown := sorted(set(config) - set(only) - set(read) - set(unread)):",
        "if unknown := ():",
        "an option that nobody knows is read over",
    ),
    known(
        "if not any(flag == isinstance(usual, bool) and config[name] == usual for usual in only[name]):",
        "if False:",
        "an option may say what no block computes",
    ),
    known("flag == isinstance(usual, bool) and ", "", "a number is a truth value"),
    gpt2("    require_known_options(config, read=_READ, unread=_UNREAD, only=_ONLY)\n", "", "no option is refused"),
    gpt2(
        "if alias in config and options.setdefault(name, config[alias]) != config[alias]:",
        "if False:",
        "other names of a size are not read",
    ),
    gpt2(
        "if alias in config and options.setdefault(name, config[alias]) != config[alias]:",
        "if alias in config and options.setdefault(name, config[alias]) is None:",
        "two names of a size may differ",
    ),
    gpt2(
        "if type(options[name]) is not int or options[name] < least:",
        "if options[name] < least:",
        "a number of layers may be no integer",
    ),
    gpt2('(("n_head", 1), ("n_layer", 0))', '(("n_head", 0), ("n_layer", 0))', "there may be no head"),
    gpt2("        if type(options[name]) is not bool:", "        if False:", "0 is a truth value"),
    gpt2("if other := sorted(set(architectures) - set(_ARCHITECTURES)):", "if other := ():", "any is GPT-2"),
    gpt2("    if len(unprefixed) < len(weights):", "    if False:", "a tensor may be given twice"),
    gpt2("if type(epsilon) not in (int, float) or not", "if not", "an epsilon may be a text"),
    gpt2('        _require_size(options, "n_inner", neurons.d_mlp)\n', "", "the number of neurons is not compared"),
    gpt2(
        'if "lm_head.weight" not in unprefixed and not options["tie_word_embeddings"]:',
        "if False:",
        "a readout that is missing is the embeddings",
    ),
    gpt2(
        '    if options["tie_word_embeddings"]:',
        "    if False:",
        "a readout may differ from the embeddings that it is said to be",
    ),
    gpt2('    _require_size(options, "n_embd", W_E.shape[1])\n', "", "the width is not compared"),
    gpt2('    _require_size(options, "vocab_size", W_E.shape[0])\n', "", "the vocabulary is not compared"),
    gpt2('("n_positions", "n_ctx")', '("n_ctx",)', "the number of positions is not compared"),
    lens("    require_known_options(config, read=_READ, unread=_UNREAD, only=_ONLY)\n", "", "no option is refused"),
    lens("        if type(config.get(name, True)) is not bool:", "        if False:", "0 is a truth value"),
    lens(
        "if config.get(name) is not None and type(config[name]) is not int:", "if False:", "2.0 is a number of layers"
    ),
    lens("if config.get(name) not in (*unset, found):", "if False:", "sizes are not compared"),
    lens(
        '        _require_size(config, "d_head", attention.d_qk, f"{place}.attn.W_Q")\n',
        "",
        "the width that scales the scores is not that of the queries",
    ),
    lens(
        '        _require_size(config, "d_head", attention.d_head, f"{place}.attn.W_V")\n',
        "",
        "the width of the values is not compared",
    ),
    lens(
        '        _require_size(config, "n_heads", attention.n_heads, f"{place}.attn.W_Q")\n',
        "",
        "heads are not counted",
    ),
    lens(
        "    if scale == -1.0:  # what", "    if scale <= 0:  # what", "a scale of 0 or below is the root of the width"
    ),
    lens('config.get("eps", 1e-5)', 'float(config.get("eps", 1e-5))', "an epsilon may be a text"),
    lens('norm(f"{place}.ln2"), parallel=parallel)', 'norm(f"{place}.ln2"))', "no neurons are in parallel", LENS),
    lens('"score_cap": score_cap', '"score_cap": None', "scores have no cap", LENS),
    lens(
        'take(f"{place}.attn.{x}_norm.w"), None, epsilon)', 'take(f"{place}.attn.{x}_norm.w"))', "another epsilon", LENS
    ),
    own(
        "if canonical_json(full_config[name]) != canonical_json(value):",
        "if False:",
        "names and shapes are not compared",
    ),
    own(
        "    require_known_options(config, read=only, unread=UNREAD_IN_TRANSFORMERS, only=ONLY_IN_TRANSFORMERS)\n",
        "",
        "no option is refused",
    ),
    read(
        "        if canonical_json(options[name]) != canonical_json(expected[name]):",
        "        if False:",
        "none counts",
    ),
    read(
        "    require_known_options(options, read=expected, unread=(), only={})\n",
        "    options = {n: v for n, v in options.items() if n in expected}\n",
        "unknown ones are left out",
    ),
    read(
        'huggingface.model_of if config.get("model_type") == "byheart" else _of_options',
        "_of_options",
        "those of an export are not",
    ),
    read(
        "            if unknown := sorted(set(exact) - set(model.tensors())):",
        "            if unknown := []:",
        "a tensor may belong to no block",
    ),
    Mutant(
        "byheart/hosts/questions/given.py",
        "if theirs in linear and not stored_as_linear(config, ours)",
        "if False",
        "tests/byheart/hosts/test_certify.py",
        "linear maps of torch are read as they are stored",
    ),
    Mutant(
        "byheart/hosts/questions/given.py",
        "if left := sorted(set(parameters) - set(names.values())):",
        "if left := []:",
        "tests/byheart/hosts/test_certify.py",
        "names may leave out a tensor",
    ),
]
