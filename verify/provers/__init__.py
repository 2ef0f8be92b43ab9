"""Prove the statements of a certificate fast: one file per kind, none of which has to be trusted."""
