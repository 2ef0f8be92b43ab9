"""Out of byheart into other people's programs, and back: one file for each host, and one for what all of them need."""
