"""Edit a trained model with one neuron per fact, which adds a vector to the residual stream."""
