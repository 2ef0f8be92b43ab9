"""What a model computes: enclosed in float64 and in balls, and exactly in rationals."""
