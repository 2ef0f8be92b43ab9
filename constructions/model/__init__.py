"""Models: their weights in float64 and in rationals, their files, and what they compute."""
