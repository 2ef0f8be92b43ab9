"""Rational networks that memorize exactly what a theorem promises."""
