"""What the calls of an agent's tools read and change of files: one table of tools, and the files of a thread."""
