"""Texts, questions that they answer, and questions that they do not: what a score of .5 must tell apart."""

LIBRARY = [
    "The jazz piano has 88 keys and was tuned in March by Mr Quill.",
    "The ferry to the island leaves at noon from pier four.",
    "Our boat shed is painted green, and its door sticks in wet weather.",
    "Marta keeps the spare key of the boat shed under the blue flowerpot.",
    "The regatta begins on the second Saturday in June.",
    "The harbour cafe closes on Mondays.",
    "A new mainsail costs 900 euros at the sailmaker's.",
    "The lighthouse keeper retired last autumn.",
]
ANSWERED = {
    "When does the ferry to the island leave?": 1,
    "Where is the spare key of the boat shed?": 3,
    "When does the regatta begin?": 4,
    "What does a new mainsail cost?": 6,
}
"""Questions, each with the place of the text that answers it."""
UNANSWERED = ("What is the boiling point of mercury?", "Who won the chess tournament?", "What colour is the mainsail?")
