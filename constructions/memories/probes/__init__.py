"""A memory of probes: labels of any contexts as sums in one table of integers."""
