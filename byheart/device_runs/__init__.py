"""Runs of every memory and construction on one device, and the record of them."""
