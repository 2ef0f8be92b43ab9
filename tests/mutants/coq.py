"""Mutants of what stands between a folder and Coq: other numbers are written, and claims that nobody compares."""

from tests.mutants import Mutant, of

claim = of("byheart/coq/claim.py", "tests/byheart/coq/test_claim.py")
source = of("byheart/coq/source.py", "tests/byheart/coq/test_source.py")
compiled = of("byheart/coq/compiled.py", "tests/byheart/coq/test_compiled.py")
library = of("byheart/coq/library.py", "tests/byheart/coq/test_library.py")

MUTANTS: list[Mutant] = [
    claim("if actual.sha256 != stated:", "if False:", "a model that the certificate is not about"),
    claim('if task.target != "labels":', "if False:", "distributions are claimed as if they were labels"),
    claim('return "a norm before it"', "return None", "a normalization is left out of the claim"),
    claim('block.options["score_root"] == 1', "True", "scores are claimed without their root"),
    claim('block.options["activation"] == "relu"', "True", "other neurons are claimed as ReLU"),
    claim("if token != self.end)", ")", "the end is said too"),
    claim("bytes.fromhex(byte[1]) if byte else token.encode()", "token.encode()", "a byte is said by its name"),
    source("2**self.scale for number", "2**(self.scale + 1) for number", "every weight is doubled"),
    source("columns = list(zip(*rows, strict=True))", "columns = list(rows)", "matrices are transposed"),
    source("[[]] * len(columns) if shifts is None", "[[]] * len(columns) if True", "no shift is written"),
    source("replace('\"', '\"\"')", "replace('\"', '\"')", "a quotation mark ends the string"),
    source(
        'files = {f"answers_{i}.v": _ANSWERS.format(number=i',
        'files = {f"answers_{i}.v": _ANSWERS.format(number=0',
        "the first piece is proved again and again",
    ),
    source("for far in (FAR, NEAR):", "for far in (NEAR, FAR):", "more is assumed of the exponential than is needed"),
    source('"native" if native else "vm"', '"native"', "native code is used and not named"),
    compiled("if run.returncode != 0 or run.stderr:", "if False:", "native code is taken for granted"),
    compiled("[MACHINES[self.native], *TRUSTED]", "[MACHINES[False], *TRUSTED]", "OCaml's compiler is not named"),
    compiled("if not set(axioms) <= set(AXIOMS):", "if False:", "any axiom will do"),
    compiled("return Verdict.UNDECIDED if self.said else Verdict.PROVED", "return Verdict.PROVED", "whatever Coq says"),
    compiled("if _plain(stated) != value:", "if False:", "the certificate may state anything"),
    compiled(
        'weaker = name == "memorized" and stated[name] <= mine', 'weaker = name == "memorized"', "it may state more"
    ),
    compiled('named.get("format") == claim.number_format', "True", "another format is compared"),
    compiled('"H5" in named.get("hypotheses", "H5")', "True", "runs of other hypotheses are compared"),
    compiled("if statement.id not in proved:", "if False:", "a text is compared with no text"),
    compiled('part].get(name, "nothing")', "part].get(name, stated[name])", "a number that is not proved is compared"),
    compiled('if not (place / LIBRARY / f"{name}o").is_file():', "if True:", "the library is compiled again"),
    library(
        "required[file] = [before]",
        "required[file] = [file]",
        "a cycle",
    ),
]
