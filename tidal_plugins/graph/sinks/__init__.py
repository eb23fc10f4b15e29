"""The graph as other graph engines get it, and what each of them has already."""
