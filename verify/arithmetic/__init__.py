"""Rigorous numbers: enclosures in float64, integers and fixed point, and how they are printed."""
