"""What no encoder of a dimension can reach, and what the built ones reach."""
