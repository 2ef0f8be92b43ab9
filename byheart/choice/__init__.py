"""Which memory: what of those that could hold a task is built, judged and kept."""
