"""Figures of the sources computed again: models are trained, and what each holds is proved.

Page: docs/experiments.md
"""
