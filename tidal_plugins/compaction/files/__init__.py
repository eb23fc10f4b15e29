"""The files that an agent worked on, shown again after a compaction."""
