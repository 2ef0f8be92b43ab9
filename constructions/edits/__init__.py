"""What edits a trained model: one neuron for each fact, and what it writes into the stream."""
