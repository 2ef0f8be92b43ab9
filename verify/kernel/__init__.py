"""The kernel, which has to be trusted: it proves the statements of a certificate with FLINT as its only library.

Page: docs/rigour/kernel.md
"""
