"""The attention that the theorems build: one function for each construction."""
