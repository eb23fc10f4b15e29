"""Describe plain statements in lower-case sentences: what is said of a thing, when, and of whom."""

from __future__ import annotations

from tidal_plugins.patterns import lazy_re

SINGULAR_ATTRIBUTES = frozenset(
    "name birthday deadline address password port email phone capital owner version colour color timezone title "
    "default username host branch status state mode codename nickname surname hometown manager boss maintainer "
    "currency language database provider".split()
)
"""Nouns of which a thing has one."""
OFFICES = frozenset("owner manager boss maintainer".split())
"""Those of them that a person holds."""
STATEMENT = lazy_re(
    r"(?:the |a |an )?(?P<subject>\S+(?: \S+){0,5}?)(?: is| are|'s|'re|'m| am| =| equals)"
    r"(?P<still> (?:now|currently|still|again|back|already|finally))?(?P<not> not|n't| no longer)? (?P<value>.+)"
)
STATEMENT_TAIL = lazy_re(
    r"(?: (?:since|until|till|because|for now|for the|again|now|today|currently|at the moment|right now|as of|"
    r"this|after|due|so|but|and|thanks)\b|[,;:(–—]).*"
)
LEADING_ARTICLE = lazy_re(r"^(?:the|a|an|completely|fully|totally|really|very|back|still) ")
PAST = lazy_re(r"\b(?:did|didn't|was|wasn't|were|weren't|had|hadn't|used to|yesterday|ago|last)\b")
PRESENT = lazy_re(
    r"\b(?:is|are|am|costs?|has|have|starts?|begins?|ends?|opens?|closes?|takes?|needs?|weighs?|lives?|runs?|listens?|"
    r"expires?|leaves?|arrives?|lasts?|requires?|will be|due)\b|'s\b|="
)
UNNAMED_SUBJECT = lazy_re(r"(?:it|this|that|these|those|they|there|he|she|here|what|which)(?:'|\b)")
PERSON = lazy_re(r"\b(i|me|my|mine|we|us|our|you|your|he|she|his|her|they|their|it|its|this|that|these|those)\b")
NATIONALITY = lazy_re(r"(?:[a-z](?:ish|ese|ian|ean|can|ench)|German|Dutch|Greek|Swiss|Czech|Thai|Welsh)$")
