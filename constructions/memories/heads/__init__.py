"""Memories made of attention heads only, for contexts of any length."""
