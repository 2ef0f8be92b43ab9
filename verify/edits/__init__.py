"""Proved bounds of what an edit of a trained model changes, and of what it does not."""
