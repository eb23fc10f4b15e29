"""Entities and assertions read by rules: precision before recall, linear in the text, no model."""

from tidal_plugins.graph.reading.extractor import RuleExtractor as RuleExtractor
