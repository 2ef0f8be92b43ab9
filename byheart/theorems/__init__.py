"""What the interface makes of the theorems: the only folder of it that imports them."""
