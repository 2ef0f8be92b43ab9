"""What a model answers on a whole domain of inputs, most of which nobody has to look at."""
