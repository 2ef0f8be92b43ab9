"""Rules with a state, whose answers are emitted token by token."""
