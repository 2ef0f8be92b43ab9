"""The constructions of the theorems by name, each with a task of one's own or a random one."""
