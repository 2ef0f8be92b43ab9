"""Mutants of edits: leaks that are too small, bounds without a factor, contexts and neurons that nobody looks at."""

from tests.mutants import of

leak = of("verify/edits/leak.py", "tests/verify/edits/test_leak.py")
moved_logits = of("verify/edits/moved_logits.py", "tests/verify/edits/test_moved_logits.py")
judge = of("verify/edits/judge.py", "tests/verify/edits/test_judge.py")
contexts = of("verify/edits/contexts.py", "tests/verify/edits/test_contexts.py")
before = of("verify/edits/before.py", "tests/verify/edits/test_before.py")
stem = of("verify/forward/stem.py", "tests/verify/forward/test_stem.py")
moved_logits_by_judge = of("verify/edits/moved_logits.py", "tests/verify/edits/test_judge.py")
proof = of("verify/provers/edit.py", "tests/verify/provers/test_edit.py")
proof_by_edit_check = of("verify/provers/edit.py", "tests/falsify/test_forged_edits.py")
half_space = of("constructions/edits/half_space.py", "tests/constructions/edits/test_half_space.py")
appended_neurons = of("constructions/model/appended_neurons.py", "tests/constructions/model/test_appended_neurons.py")
judge_by_proof = of("verify/edits/judge.py", "tests/verify/provers/test_edit.py")
appended_neurons_by_proof = of("constructions/model/appended_neurons.py", "tests/verify/provers/test_edit.py")
certificate = of("verify/edits/certificate.py", "tests/falsify/test_forged_edits.py")
proof_by_editing = of("verify/provers/edit.py", "tests/byheart/test_editing.py")
editing = of("byheart/editing.py", "tests/byheart/test_editing.py")
edited_folder = of("byheart/edited_folder.py", "tests/byheart/test_edited_folder.py")

page = of("byheart/edited_page.py", "tests/byheart/test_edited_page.py")

MUTANTS = [
    page('if stored != made.encode("utf-8"):', "if False:", "the page of an edit may say anything"),
    leak("_TURNS = 1.28", "_TURNS = 0.5", "the minimum of an activation is passed over"),
    leak("_DEEPEST = 0.28", "_DEEPEST = 0.2", "SiLU is deeper than that"),
    leak('"gelu-bloom": 1.59576912', '"gelu-bloom": 1.6', "another activation"),
    leak("_CUBE = 0.044715\n", "_CUBE = 0.05\n", "another activation"),
    leak("-(far * far) / 2.0", "-(far * far)", "the tail of GELU is too thin"),
    leak("above_zero = np.maximum(-known, 0.0)", "above_zero = 0.0 * known", "neurons that fire"),
    moved_logits("- spread * SLACK", "", "a stream may come nearer to 0"),
    moved_logits("np.sqrt(final.epsilon) *", "1.0 *", "epsilon stands under the root"),
    moved_logits("moved.max())", "moved.min())", "the steepest logit counts"),
    judge("lead > 2.0 * moved[chosen]", "lead > 0.0 * moved[chosen]", "a lead may be lost"),
    judge("inside.upper(), writes", "inside.upper() - 1.0, writes", "neurons read more than that"),
    judge("before.radius + after.radius", "before.radius", "both models are known within a radius"),
    judge("(middle + radius) * SLACK", "middle * SLACK", "logits are farther apart than the middles"),
    judge("known & (old == new), known", "old == new, known", "two that are not decided are the same"),
    judge("off * writes +", "off +", "what a neuron writes has a size"),
    judge("+ np.nextafter(0.0, 1.0) * (off > 0.0)", "", "what underflows is nothing"),
    moved_logits_by_judge("* SLACK + _LEAST)", "* SLACK)", "a quotient underflows to 0"),
    judge("blocks=(*site.reads, site.norm)", "blocks=site.reads", "neurons read behind a norm"),
    judge("2.0 * d + 2.0 * np.sqrt(d)", "2.0 * d + 4.0 * np.sqrt(d)", "a cap reaches farther"),
    proof(
        "known.decided(edited, edit.contexts[~flat], is_rounded) == edit.answers[~flat]",
        "known.decided(edited, edit.contexts[~flat], is_rounded) >= 0",
        "any answer will do",
    ),
    contexts("proved = lead > 0.0", "proved = lead > -np.inf", "an answer that is not decided is one"),
    contexts("still[:] = is_open[own]", "pass", "what is decided is asked for again"),
    contexts("places[part][rows], logits", "rows, logits", "places are those among the contexts of one length"),
    before("if is_rounded:", "if False:", "a rounded model begins as the original"),
    before("known = by > 0.0", "known = by > -np.inf", "a tie is decided"),
    before("edited.blocks[self.place :]", "self.model.blocks[self.place :]", "the edited model is the original"),
    stem("one is other for one, other in pairs", "True for one, other in pairs", "any blocks are those of the stem"),
    stem("same and len(model.blocks)", "len(model.blocks)", "any embedding is that of the stem"),
    stem("not is_parallel and ", "", "neurons that read what the attention has read"),
    stem("only_last_is_read(model.blocks, place - 1)", "True", "an attention behind the stem"),
    proof("    require_distinct(edit)\n    proof", "    proof", "a context is both edited and kept"),
    proof("    if len(inside):", "    if False:", "a new neuron fires at a kept context"),
    proof_by_edit_check(
        "if not own.get(name, np.inf) <= stored[name]:", "if False:", "a bound that does not follow is proved"
    ),
    proof_by_edit_check("original.sha256() != certificate.original", "False", "any original is named"),
    proof_by_editing("if not is_rounded and (layer", "if (layer", "outside of the caps nothing is known"),
    editing("original=model, layer", "original=stored, layer", "the proof is about a rounded copy"),
    half_space("scale = 2.0 * trigger / gaps", "scale = trigger / gaps", "half as sharp"),
    half_space("shifts -= norm.b @ weights", "pass", "the shift of the norm is forgotten"),
    appended_neurons(
        "or any(x[..., kept:].any() for x in parts.values())", "", "neurons that do something are taken off elsewhere"
    ),
    moved_logits("stream.rows.whole() + apart", "stream.rows.whole()", "an earlier block moves nothing"),
    moved_logits("2.0 * SLACK * radii", "0.5 * SLACK * radii", "both logits are in the ball"),
    judge_by_proof(
        "range(1, contexts.shape[1] + 1)", "range(contexts.shape[1], contexts.shape[1] + 1)", "earlier positions count"
    ),
    judge_by_proof("if site.is_last or distance == 0.0 else np.inf", "", "an earlier block leaks into others"),
    appended_neurons_by_proof("if block.W_in[:, new_neurons].any() or not", "if not", "the factor of a gate may read"),
    appended_neurons_by_proof("or not (shifts[new_neurons] == 1.0).all()", "", "the factor of a gate may be 2"),
    appended_neurons_by_proof("place - 1 if neurons.parallel else place", "place", "parallel neurons read before"),
    appended_neurons_by_proof("_grown(site.neurons, neurons, 1.0)", "_grown(site.neurons, neurons, 0.0)", "gates of 0"),
    edited_folder("not same or any(tensor.any()", "any(tensor.any()", "another model is taken for the same"),
]
