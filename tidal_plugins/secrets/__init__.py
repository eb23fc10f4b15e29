"""Secrets in texts: where they stand, and texts with marks in their place."""
