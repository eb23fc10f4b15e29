"""Emotion of a conversation: estimators of emotion, and the state that follows them."""
