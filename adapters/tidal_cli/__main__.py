"""Let ``python -m tidal_cli`` be the command line."""

from tidal_cli import main

main()
