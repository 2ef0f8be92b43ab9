"""What is judged, read from files with the standard library alone."""
