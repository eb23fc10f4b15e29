"""The files that an agent worked on: followed through its tool calls, and shown again after a compaction."""
