"""Let ``python -m tidal_hooks`` be ``tidal hook``."""

import sys

from tidal_hooks import end_with

if __name__ == "__main__":
    end_with(sys.argv[1:])
