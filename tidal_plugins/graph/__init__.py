"""The knowledge graph: entities and relations learned from episodes, with their evidence [SIYA §3.3]."""
