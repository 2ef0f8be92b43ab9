"""Mutants of edits: leaks that are too small, bounds without a factor, contexts and neurons that nobody looks at."""

from tests.mutants import Mutant

JUDGE, PROOF = "verify/edits/judge.py", "verify/edits/proof.py"
SECOND = "verify/independent/edit_check.py"
OF_LEAK, OF_MOVES = "tests/verify/edits/test_leak.py", "tests/verify/edits/test_moved_logits.py"
OF_JUDGE, OF_PROOF = "tests/verify/edits/test_judge.py", "tests/verify/edits/test_proof.py"
OF_SECOND = "tests/verify/independent/test_edit_check.py"
MOVES, NEURONS = "verify/edits/moved_logits.py", "constructions/models/appended_neurons.py"
OF_ATTACKS, OF_FOLDER = "tests/falsify/test_edits.py", "tests/byheart/test_edited_folder.py"
OF_SPACES = "tests/constructions/edits/test_half_space.py"

MUTANTS = [
    Mutant(
        "verify/edits/leak.py", "_TURNS = 1.28", "_TURNS = 0.5", OF_LEAK, "the minimum of an activation is passed over"
    ),
    Mutant("verify/edits/leak.py", "_DEEPEST = 0.28", "_DEEPEST = 0.2", OF_LEAK, "SiLU is deeper than that"),
    Mutant("verify/edits/leak.py", '"gelu-bloom": 1.59576912', '"gelu-bloom": 1.6', OF_LEAK, "another activation"),
    Mutant("verify/edits/leak.py", "_CUBE = 0.044715\n", "_CUBE = 0.05\n", OF_LEAK, "another activation"),
    Mutant("verify/edits/leak.py", "-(far * far) / 2.0", "-(far * far)", OF_LEAK, "the tail of GELU is too thin"),
    Mutant(
        "verify/edits/leak.py",
        "above_zero = np.maximum(-known, 0.0)",
        "above_zero = 0.0 * known",
        OF_LEAK,
        "neurons that fire",
    ),
    Mutant(MOVES, "- spread * SLACK", "", OF_MOVES, "a stream may come nearer to 0"),
    Mutant(MOVES, "np.sqrt(final.epsilon) *", "1.0 *", OF_MOVES, "epsilon stands under the root"),
    Mutant("verify/edits/moved_logits.py", "moved.max())", "moved.min())", OF_MOVES, "the steepest logit counts"),
    Mutant(JUDGE, "lead > 2.0 * moved[chosen]", "lead > 0.0 * moved[chosen]", OF_JUDGE, "a lead may be lost"),
    Mutant(JUDGE, "above = inside.upper()", "above = inside.upper() - 1.0", OF_JUDGE, "neurons read more than that"),
    Mutant(JUDGE, "off * writes +", "off +", OF_JUDGE, "what a neuron writes has a size"),
    Mutant(JUDGE, "+ np.nextafter(0.0, 1.0) * (off > 0.0)", "", OF_JUDGE, "what underflows is nothing"),
    Mutant("verify/edits/moved_logits.py", "* SLACK + _LEAST)", "* SLACK)", OF_JUDGE, "a quotient underflows to 0"),
    Mutant(
        JUDGE,
        "blocks=(*site.reads, site.norm)",
        "blocks=site.reads",
        OF_JUDGE,
        "neurons read behind a norm",
    ),
    Mutant(JUDGE, "2.0 * d + 2.0 * np.sqrt(d)", "2.0 * d + 4.0 * np.sqrt(d)", OF_JUDGE, "a cap reaches farther"),
    Mutant(
        PROOF,
        ".place == edit.answers[~flat]",
        ".place >= 0",
        OF_PROOF,
        "any answer will do",
    ),
    Mutant(PROOF, "    require_distinct(edit)\n    proof", "    proof", OF_PROOF, "a context is both edited and kept"),
    Mutant(PROOF, "    if len(inside):", "    if False:", OF_PROOF, "a new neuron fires at a kept context"),
    Mutant(
        PROOF,
        "if not own.get(name, np.inf) <= stored[name]:",
        "if False:",
        OF_SECOND,
        "a bound that does not follow is proved",
    ),
    Mutant(PROOF, "original.sha256() != certificate.original", "False", OF_SECOND, "any original is named"),
    Mutant(SECOND, "original.sha256 != certificate.original", "False", OF_SECOND, "any original is named"),
    Mutant(SECOND, 'if held < stored["held"]:', "if False:", OF_SECOND, "edits that are lost are proved"),
    Mutant(
        SECOND,
        "if not _bound(edited, edits, site, row) <= moved:",
        "if False:",
        OF_SECOND,
        "a bound that does not follow",
    ),
    Mutant(
        SECOND,
        'outside <= ball(stored["outside"])',
        "outside <= arb(10)",
        OF_SECOND,
        "nothing outside",
    ),
    Mutant(
        "constructions/edits/half_space.py",
        "scale = 2.0 * trigger / gaps",
        "scale = trigger / gaps",
        OF_SPACES,
        "half as sharp",
    ),
    Mutant(
        "constructions/edits/half_space.py",
        "shifts -= norm.b @ weights",
        "pass",
        OF_SPACES,
        "the shift of the norm is forgotten",
    ),
    Mutant(
        "constructions/models/appended_neurons.py",
        "or any(x[..., kept:].any() for x in parts.values())",
        "",
        "tests/constructions/models/test_appended_neurons.py",
        "neurons that do something are taken off elsewhere",
    ),
    Mutant(MOVES, "stream.rows.whole() + apart", "stream.rows.whole()", OF_MOVES, "an earlier block moves nothing"),
    Mutant(MOVES, "2.0 * SLACK * radii", "0.5 * SLACK * radii", OF_MOVES, "both logits are in the ball"),
    Mutant(
        JUDGE,
        "range(1, contexts.shape[1] + 1)",
        "range(contexts.shape[1], contexts.shape[1] + 1)",
        OF_PROOF,
        "earlier positions count",
    ),
    Mutant(JUDGE, "if site.is_last or distance == 0.0 else np.inf", "", OF_PROOF, "an earlier block leaks into others"),
    Mutant(NEURONS, "if block.W_in[:, own].any() or not", "if not", OF_PROOF, "the factor of a gate may read"),
    Mutant(NEURONS, "or not (shifts[own] == 1.0).all()", "", OF_PROOF, "the factor of a gate may be 2"),
    Mutant(NEURONS, "place - 1 if neurons.parallel else place", "place", OF_PROOF, "parallel neurons read before"),
    Mutant(NEURONS, "_grown(site.neurons, neurons, 1.0)", "_grown(site.neurons, neurons, 0.0)", OF_PROOF, "gates of 0"),
    Mutant(SECOND, "if any(x != 0.0 for x in zeros) or any", "if any", OF_PROOF, "the factor of a gate may read"),
    Mutant(SECOND, "if not all(x.upper() <= 0 for x in row):", "if False:", OF_ATTACKS, "neurons of a prefix fire"),
    Mutant(SECOND, "all(abs(x - y) <= most for", "all(True for", OF_ATTACKS, "an earlier layer moves more than stated"),
    Mutant(SECOND, "random.Random(seed)", "random.Random(0)", OF_SECOND, "everybody draws the same"),
    Mutant(
        "verify/edits/certificate.py",
        "if not left:\n            return whole",
        "return whole\n        if not left:\n            return whole",
        OF_SECOND,
        "a sample is said to be all",
    ),
    Mutant(
        "byheart/edited_folder.py",
        "not same or any(tensor.any()",
        "any(tensor.any()",
        OF_FOLDER,
        "another model is taken for the same",
    ),
]
