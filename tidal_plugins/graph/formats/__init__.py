"""The graph in the formats of others: GraphML, JSON-LD, Cypher."""
