"""What is known: facts under keys, and how memories are joined."""
