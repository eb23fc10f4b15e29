"""What is read of entries beside their words, and kept with them."""
