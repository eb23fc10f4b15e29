"""Consolidation: tiers, facts from what recurs, dossiers, thought seeds; its undo, and the thread that runs it."""
