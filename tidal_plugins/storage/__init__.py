"""Storage: the contract and its engines."""
