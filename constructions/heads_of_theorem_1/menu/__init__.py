"""The memories of Theorem 1 on the menu: each file of this folder defines a `MEMORY`."""
