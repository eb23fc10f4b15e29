"""Jobs: what follows a write. They are stored with it, and done later by any process that shares the store."""
