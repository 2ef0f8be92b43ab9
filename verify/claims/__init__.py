"""The evidence about each claim of the register, one file each, under the names of `constructions.claims`."""
