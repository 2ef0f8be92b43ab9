"""The memory of Mahdavi et al., whose attention is saturated, and the conditions that it needs."""
