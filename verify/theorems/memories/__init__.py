"""What the memories of the same names promise, judged."""
