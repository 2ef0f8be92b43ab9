"""Rigorous matrices: ranks, inverses, singular values, linear systems."""
