"""Tool traffic: what the calls of an agent's tools say about code, for the graph."""
