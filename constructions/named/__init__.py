"""The named constructions of the theorems, each for a user's task or a random one."""
