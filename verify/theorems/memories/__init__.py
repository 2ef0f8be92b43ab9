"""Judge the promises of the memories with the same names."""
