"""Prove rules with a state on all inputs, by longest paths and boxes of the head outputs."""
