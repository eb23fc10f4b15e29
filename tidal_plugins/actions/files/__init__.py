"""Files as the calls of an agent's tools show and change them."""
