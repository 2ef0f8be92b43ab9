"""Theorem 1 of Dana et al. as weights: attention, encoder and unembedding, and the remaining contexts."""
