"""What Theorem 1 puts on the menu of memories: one file each, found by its folder. Each has a `MEMORY`."""
