"""Learned models that read sentences."""
