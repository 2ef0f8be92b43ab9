"""Files of other people's programs, one module for each."""
