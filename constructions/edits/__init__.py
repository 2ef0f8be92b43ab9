"""Edit a trained model by one neuron per fact, which writes into the stream."""
