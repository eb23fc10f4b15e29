"""How conversation feels: estimators of emotion, and the state that follows them."""
