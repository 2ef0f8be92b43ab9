"""Run every memory and construction on one device, and record the results."""
