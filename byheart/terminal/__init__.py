"""What all commands read from the line and write on the terminal."""
