"""The type of formulas that work on numbers and on arrays alike, element by element."""

from __future__ import annotations

from typing import Any, TypeAlias

Values: TypeAlias = Any
"""A number, or an array of numbers. NumPy's own annotations lose what the result of either is."""
