"""Theorem 1 of Dana et al. as weights: attention, encoder and unembedding, and the contexts that are left out."""
