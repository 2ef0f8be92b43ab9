"""The memories of Theorem 1 on the menu: one file each, found by its folder. Each has a `MEMORY`."""
