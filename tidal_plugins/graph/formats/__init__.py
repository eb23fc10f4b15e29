"""The graph as GraphML, JSON-LD and Cypher."""
