"""What separates a prediction from its target."""
