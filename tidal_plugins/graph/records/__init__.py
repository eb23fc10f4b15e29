"""The stored form of the graph: entities, relations with their evidence, when they hold, and merges."""
