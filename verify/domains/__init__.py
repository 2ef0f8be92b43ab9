"""What a model answers on a whole domain of inputs, decided without looking at each of them where that can be avoided."""
