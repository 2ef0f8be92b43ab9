"""Bounds of the effects of an edit of a trained model, with proof."""
