"""The nouns of the library: plain immutable values, no I/O."""
