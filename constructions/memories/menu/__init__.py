"""The memories of the menu that need no theory: each file of this folder defines a `MEMORY`."""
