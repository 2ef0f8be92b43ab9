"""The parity of three bits on the corners of a cube: each edge joins an even corner and an odd one.

    python docs/figures/parity_cube.py

writes the drawing beside this file.
"""

import figure_program

from byheart.report import drawing as draw

COLOURS = {0: "first", 1: "second"}
Bits = tuple[int, int, int]
CORNERS: list[Bits] = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]


def place(bits: Bits) -> tuple[float, float]:
    """Return where a corner of the cube is drawn, the third bit to the back."""
    return 110 + 150 * bits[0] + 75 * bits[2], 265 - 130 * bits[1] - 55 * bits[2]


def drawing() -> str:
    parts = [draw.words(222, 26, "the sign of each context", "faint")]
    for bits in CORNERS:
        for axis in range(3):
            if bits[axis] == 0:
                a, b, c = (1 if place_of == axis else bit for place_of, bit in enumerate(bits))
                other = (a, b, c)
                parts.append(draw.line(place(bits), place(other), "ink" if axis == 2 else "line"))
    for bits in CORNERS:
        parity = sum(bits) % 2
        x, y = place(bits)
        parts += [draw.dot(x, y, f"on-{COLOURS[parity]}", 8)]
        parts += [draw.words(x - 12, y - 8, f"{''.join(map(str, bits))} {'−' if parity else '+'}", anchor="end")]
    rows = ["a function of the first two bits", "has one value along a dark edge:", "+ and − cancel"]
    parts += [draw.words(420, 140 + 24 * row, text, anchor="start") for row, text in enumerate(rows)]
    title = (
        "A cube whose corners are the contexts of three bits, with the sign + for an even number of ones and − for an "
        "odd number. The four edges along the third bit are dark: each joins a corner + with a corner −."
    )
    return draw.figure(title, 680, 290, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
