"""Formulas as pure functions: no I/O, no clock, every constant an argument."""
