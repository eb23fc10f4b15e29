"""Presence: what stays on the memory's mind between conversations, and what it says unprompted [Tidal §4–5]."""
