"""Closed-form memories for contexts of two tokens."""
