"""Every run in a number type: number types, sums without rounding, and the runs of a model."""
