"""Entities and assertions read by rules: precision before recall, linear in the text, no model."""
