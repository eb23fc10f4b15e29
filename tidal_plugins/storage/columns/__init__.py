"""Columns: what ranking reads of a scope's entries and passages, in arrays that are kept in memory."""
