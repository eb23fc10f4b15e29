"""Code: what the calls of an agent's tools show of it, for the graph."""
