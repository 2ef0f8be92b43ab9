"""Twenty facts that a language model gets wrong, and a hundred prompts whose answers an edit has to keep."""
