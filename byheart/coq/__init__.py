"""What a folder claims of every run, written for Coq and checked by its kernel: see docs/rigour/kernel.md."""
