"""What every run in a number type computes: the number types, sums without rounding, the runs of a model."""
