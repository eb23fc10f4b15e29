"""Associations: weighted links between memories that come up together."""
