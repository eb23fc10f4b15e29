"""Every English word list and pattern of the library."""
