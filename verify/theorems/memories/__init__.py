"""Judge what the memories of the same names promise."""
