"""Find what is said to an agent: who it is, what it does when, whom it may reach, and what rules hold."""

from __future__ import annotations

import re

IDENTITY = re.compile(
    r"\byour (?:name|role|job|voice|tone|task) (?:is|should be)\b|\byou are (?:called|an? (?:\w+ ){0,3}"
    r"(?:assistant|agent|bot|engineer|analyst|tutor|coach))\b|\bcall yourself\b"
)
ROUTINE = re.compile(
    r"\bevery (?:\d+ )?(?:minutes?|hours?|morning|day|evening|night|week|loop|cycle|thread|hour)\b"
    r"|\b(?:at the (?:start|end) of|before|after) (?:each|every) (?:loop|cycle|thread|run|day|turn)\b"
    r"|\bfirst thing\b"
)
CONTACT = re.compile(
    r"[\w.+-]+@[\w-]+\.\w|\+?\d[\d ()-]{7,}\d"
    r"|\bmy (?:boss|manager|wife|husband|partner|lawyer|doctor|accountant|assistant|landlord) is \w"
)
STANDING_RULE = re.compile(
    r"\b(?:always|never|must(?: not)?|from now on|do not ever|don't ever|make sure (?:to|that)|forbidden)\b"
)
OWN_PLANS = re.compile(r"\bi(?:'ll|'ve|'m| will| have| am)?\b")
"""Statements of people about themselves, which are no rules for an agent."""
