"""What an agent's tools did to files, told by their names, arguments and results: one table of tools for all rooms."""
