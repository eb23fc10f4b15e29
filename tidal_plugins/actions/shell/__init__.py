"""Commands of a shell, read into what they do to files."""
