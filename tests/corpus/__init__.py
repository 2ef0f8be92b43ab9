"""Good and bad folders that judge any checker of certificates: `python -m tests.corpus -- COMMAND`."""
