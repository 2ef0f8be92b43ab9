"""Prove the statements of a certificate fast: one file for each kind, none of which has to be trusted."""
