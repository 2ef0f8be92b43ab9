"""`python -m byheart` is the `byheart` command."""

import sys

from byheart.command.main import main

sys.exit(main())
