"""Rules with a state in Python."""
