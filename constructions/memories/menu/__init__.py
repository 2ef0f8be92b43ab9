"""The memories of the menu that need no theory: one file each, found by its folder. Each has a `MEMORY`."""
