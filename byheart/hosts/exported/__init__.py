"""Write files for other libraries, one module each."""
