"""What memory comes to: a document for each topic, the capsule, and the brief made of both."""
