"""How much any weights of a shape can hold: generic rank, bounds from above, closed forms."""
