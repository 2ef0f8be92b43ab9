"""Networks in rationals that hold exactly what a theorem promises."""
