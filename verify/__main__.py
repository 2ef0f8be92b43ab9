"""`python -m verify` is the `memproof` command."""

import sys

from verify.cli import main

sys.exit(main())
