"""Connect the interface to the theorems: the only folder of it that imports them."""
