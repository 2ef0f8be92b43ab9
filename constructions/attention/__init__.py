"""Attention layers built by the theorems: one function per construction."""
