"""Rules with a state, whose answers are said token by token."""
