"""Labels that are a sum modulo M: the rule found, and the weights that compute it."""
