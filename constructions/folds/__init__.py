"""Models that answer rules with a state, token by token."""
