"""Let ``python -m tidal_plugins`` be the command ``tidal``."""

from tidal_plugins.apps.cli import main

if __name__ == "__main__":
    main()
