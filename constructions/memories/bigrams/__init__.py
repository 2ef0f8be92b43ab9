"""What is built for contexts of two tokens, in closed form."""
