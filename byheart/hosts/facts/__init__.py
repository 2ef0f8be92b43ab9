"""Facts as people have them, in the tokens of a model."""
