"""Memories of probes: labels of any contexts as sums over one table of integers."""
