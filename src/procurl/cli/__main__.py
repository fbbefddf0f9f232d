"""`python -m procurl.cli` is the `procurl` command."""

import sys

from procurl.cli.program import main

sys.exit(main())
