"""Memories of random labels and random distributions, from sizes and a seed."""
