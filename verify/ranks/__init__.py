"""The rank of the features of contexts, for the weights of a model and for all weights of its shape."""
