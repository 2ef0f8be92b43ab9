"""Mutants that a machine makes of the sources by operators, and the few of them that change nothing.

`python -m tests.operator_mutants --room kernel --sample 50 --seed 1` draws some, and prints those that no test notices.
"""
