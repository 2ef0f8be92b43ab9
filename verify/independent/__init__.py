"""The second reader: integers, balls and the standard library, and no numerical code of the prover."""
