"""Memories of random labels and random laws, from sizes and a seed alone."""
