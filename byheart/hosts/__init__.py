"""Out of byheart into other people's programs, and back: what all hosts need, and their files in rooms of their own."""
