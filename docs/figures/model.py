"""One layer of attention with the shapes of its tensors, and where the matrices X and Y of the theorems are read off.

    python docs/figures/model.py

writes the drawing beside this file; shapes and numbers are those of a model that is built.
"""

import figure_program

from byheart.report import drawing as draw
from constructions.heads_of_theorem_1.memory import build_memory
from constructions.model.attention import features, last
from constructions.tasks.arrays import enumerated_task


def shape(sizes: tuple[int, ...]) -> str:
    return " × ".join(map(str, sizes))


def drawing() -> str:
    task = enumerated_task(4, 2)
    model = build_memory(task, d_model=4, d_head=2, n_heads=6).model
    shapes = {name.split(".")[-1]: tensor.shape for name, tensor in model.tensors().items()}
    X, Y = last(model, task.contexts).shape, features(model, task.contexts).shape

    def block(x: float, y: float, *names: str) -> list[str]:
        """Return a box with tensors and their shapes."""
        parts = [draw.box(x, y, 135, 14 + 20 * len(names))]
        for place, name in enumerate(names):
            parts.append(draw.words(x + 10, y + 22 + 20 * place, name, "", "start"))
            parts.append(draw.words(x + 125, y + 22 + 20 * place, shape(shapes[name]), "faint", "end", 13))
        return parts

    given = f"{task.n_contexts} contexts of {task.n_ctx} out of {task.d_vocab} tokens"
    parts = [draw.words(15, 24, given, "faint", "start")]
    parts += [draw.path([(150, 150), (190, 92), (510, 92)], "first"), draw.arrow((510, 92), (572, 149), "first")]
    parts += [draw.words(340, 60, f"X, {shape(X)}", "on-first", size=16), draw.words(340, 80, "the last row")]
    parts += [draw.arrow((150, 165), (169, 190), "ink"), draw.arrow((307, 217), (418, 217), "second")]
    parts += [draw.words(363, 205, f"Y, {shape(Y)}", "on-second", "middle", 16)]
    parts += [draw.words(363, 243, "what heads"), draw.words(363, 260, "write")]
    parts += [draw.arrow((540, 198), (571, 172), "ink"), draw.arrow((585, 174), (585, 268), "ink")]
    parts += [draw.dot(585, 160, "ink", 13), draw.words(585, 166, "+", size=18)]
    parts += [*block(15, 132, "W_E", "W_pos"), draw.words(82, 205, "a row for", size=13)]
    parts += [draw.words(82, 222, "each token", size=13), *block(170, 178, "W_Q", "W_K", "W_V")]
    parts += [*block(420, 200, "W_O"), *block(495, 270, "W_U"), draw.arrow((493, 287), (420, 287), "ink")]
    parts.append(draw.words(412, 292, f"logits, {shape((X[0], shapes['W_U'][1]))}", "", "end"))
    title = (
        f"The model as boxes and arrows, with the shapes of a network for {given}. Embeddings give a row for each "
        f"token. The last row goes by the skip connection, X, of shape {shape(X)}; {model.n_heads} heads read all rows "
        f"and write the features Y, of shape {shape(Y)}, which W_O maps to the stream. The sum times W_U is the logits."
    )
    return draw.figure(title, 645, 320, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
