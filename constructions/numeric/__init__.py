"""Arrays and their types, products of matrices and solutions of linear systems."""
