"""Rows with certified margins: what reads the stream."""
