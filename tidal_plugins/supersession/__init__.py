"""Which statements supersede which: the newest value of what people change."""
