"""Unembeddings with certified margins, which read the residual stream."""
