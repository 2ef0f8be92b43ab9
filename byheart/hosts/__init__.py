"""Exchange models with other libraries ("hosts"): the common parts, and packages for their file formats."""
