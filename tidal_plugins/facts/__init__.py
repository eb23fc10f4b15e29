"""Named facts with their history, and the conflicts between them and what is said."""
