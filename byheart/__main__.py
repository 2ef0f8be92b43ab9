"""`python -m byheart` is the `byheart` command."""

import sys

from byheart.cli.main import main

sys.exit(main())
