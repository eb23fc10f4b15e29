"""A model reads turns for the graph, beside the rules: the agent's own model, or a cheaper one [SIYA §3.3]."""
