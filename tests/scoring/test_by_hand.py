"""Formulas by values worked out by hand: ``by_hand.jsonl`` has arguments, what is expected, and the arithmetic."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.tables import tables
from tidal_plugins import Affect
from tidal_plugins.english.moods import ends_asking
from tidal_plugins.english.sentences import sentences
from tidal_plugins.scoring import affect, decay, priority, ranking, salience
from tidal_plugins.scoring.decay import UseTuning, added, recurrence
from tidal_plugins.scoring.ranking import hinted, saturated
from tidal_plugins.scoring.text import cites, echoes, stems, terms
from tidal_plugins.testing import NOON

USE = UseTuning()


def place(state: Affect) -> list[float]:
    return [state.valence, state.arousal]


def recurring(uses: list[tuple[float, str]]) -> str:
    told = [(NOON + timedelta(hours=hour), turn) for hour, turn in uses]
    return "".join(sorted(recurrence(told, turns=3, hours=24)))


FORMULAS: dict[str, Any] = {
    "affect.relax": lambda hours, rest: place(affect.relax(Affect(-0.8, 0.4), hours, half_life=6, baseline=rest)),
    "affect.peak": affect.peak,
    "affect.exchange": lambda user, agent: place(affect.exchange(Affect(-0.4, 0.8), Affect(0.2, 0.2), user, agent)),
    "affect.gain": lambda chars: affect.gain(chars, rate=0.5, full_chars=400, least=0.1),
    "affect.update": lambda gain: place(affect.update(Affect(0.2, 0.1), Affect(-0.8, 0.9), gain)),
    "affect.alpha": lambda intensity: ranking.alpha(intensity, calm=0.7, stirred=0.3, threshold=0.5),
    "affect.blend": ranking.blend,
    "affect.emotion_similarity": ranking.emotion_similarity,
    "affect.poles": lambda one, other: ranking.emotion_similarity(one, other, poles=ranking.POLES),
    "confidence.combined": decay.combined,
    "confidence.faded": lambda sure, days: decay.faded(sure, days, half_life=180, floor=0.3),
    "context.brief": lambda words: ranking.brief(words, 20.0),
    "context.leaning": lambda own, other: ranking.leaning(own, other, 20.0),
    "context.raised": lambda own, best: ranking.raised(own, best, 0.25),
    "context.lent": lambda near, places, answer: ranking.lent(near, 0.1, places, share=0.15, answer=answer),
    "context.dated": ranking.dated,
    "questions.ends_asking": ends_asking,
    "decay.weight": decay.weight,
    "decay.half_life": lambda used, intensity: decay.half_life(
        used=used, intensity=intensity, warm=72, accessed=168, emotional=240, threshold=0.5
    ),
    "decay.hours_until": decay.hours_until,
    "decay.strength": ranking.strength,
    "decay.reinforce": lambda weight, amount: decay.reinforce(weight, amount, 10),
    "dossier.salience": lambda *parts: salience.source_salience(*parts, half_life=30.0, floor=0.2, base=0.3),
    "dossier.is_due": salience.is_due,
    "fusion.reciprocal_rank": lambda ranks: ranking.reciprocal_rank(ranks, k=60),
    "fusion.relevance": ranking.relevance,
    "fusion.sharp_relevance": lambda fused, best: ranking.sharp_relevance(fused, best, sharpness=5),
    "fusion.stretched": ranking.stretched,
    "hebbian.weight": lambda weight, days: decay.edge_weight(weight, days, 0.95),
    "hebbian.coactivate": lambda weight: decay.coactivate(weight, 1, 10),
    "hebbian.transmission": decay.transmission,
    "hebbian.days_until": decay.days_until,
    "priority.sentence_priority": lambda worth: priority.sentence_priority(worth, least=0.15),
    "priority.specificity": priority.specificity,
    "recurrence": recurring,
    "salience.surprise": salience.surprise,
    "salience.salience": lambda *parts: salience.salience(*parts, by_importance=0.5, by_intensity=0.2, by_surprise=0.3),
    "salience.consolidates": lambda importance, worth: salience.consolidates(
        importance, worth, important=8, threshold=0.35
    ),
    "signals.added": lambda score, hours, weight: added(score, hours, weight, 24.0),
    "signals.saturated": saturated,
    "signals.hinted": lambda notes: hinted(map(frozenset, notes), frozenset({"rust", "guide"})),
    "text.terms": terms,
    "text.shared": lambda query, stored: bool(set(terms(query)) & set(terms(stored))),
    "text.one_stem": lambda forms: len(set(stems(forms))) == 1,
    "sentences": lambda text: [text[start:end] for start, end in sentences(text)],
    "usage.cites": lambda answer: cites(answer, {"6k1m0aaaaaaaa", "7abcdefghjkmn"}),
    "usage.echoes": lambda question, entry, answer: echoes(
        answer, question, entry, words=USE.echo_words, share=USE.echo_share
    ),
}
TABLE = tables("scoring/by_hand.jsonl")


@pytest.mark.parametrize("name", TABLE)
def test_a_formula_gives_what_was_worked_out_by_hand(name: str) -> None:
    for given, expected, *reason in TABLE[name]:
        found = FORMULAS[name](*given)
        if isinstance(expected, bool | str) or (
            isinstance(expected, list) and expected and isinstance(expected[0], str)
        ):
            assert found == expected, (given, reason)
        else:
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-7), (given, reason)
