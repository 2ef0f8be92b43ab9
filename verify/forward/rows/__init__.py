"""Rows of a residual stream with what is not known of them: balls, ellipsoids and generators."""
