"""Find labels that are a sum modulo M, and build weights that compute it."""
