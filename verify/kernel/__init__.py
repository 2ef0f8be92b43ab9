"""What has to be believed: reads a folder and proves the statements of its certificate, with FLINT and nothing else.

Page: docs/rigour/kernel.md
"""
