"""Reading what people say of themselves, of others, and of the things around them, by rules alone."""
