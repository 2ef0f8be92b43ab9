"""Files that are whole or absent, and arrays by name in them."""
