"""``python -m spyrelab`` does what the console script does."""

import sys

from spyrelab.cli import main

if __name__ == "__main__":
    sys.exit(main())
