"""The kernel, which has to be trusted: it proves the statements of a certificate, with FLINT and nothing else.

Page: docs/rigour/kernel.md
"""
