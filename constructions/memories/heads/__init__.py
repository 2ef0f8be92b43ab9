"""Memories of heads alone, for contexts of any length."""
