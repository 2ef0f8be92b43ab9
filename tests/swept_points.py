"""Small points of every kind of bigrams, for tests of sweeps."""

from dataclasses import replace

from experiments.points import Point

BASE = Point(tokens=3, d_model=2, d_head=1, heads=1, steps=60)
SHAPES = (
    BASE,
    replace(BASE, heads=0),
    replace(BASE, maps="shared"),
    replace(BASE, targets="distributions", d_model=1),
    replace(BASE, protocol="fixed sample"),
)
POINTS = [replace(shape, data_seed=seed, seed=seed) for seed in range(2) for shape in SHAPES]
