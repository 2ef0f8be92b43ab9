"""What proves the statements of a certificate, fast: one file for each kind, none of which is ever believed."""
