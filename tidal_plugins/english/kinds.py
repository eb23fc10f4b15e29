"""List the kinds of things of which people have one in use at a time, and places by how wide they are."""

from __future__ import annotations

import re

KIND_MEMBERS = {
    "database": "postgres postgresql mysql mariadb sqlite mongodb oracle dynamodb cassandra cockroachdb duckdb",
    "drink": "coffee tea cappuccino espresso latte macchiato americano cortado mocha matcha chai cocoa juice "
    "beer wine cider lemonade milk decaf rooibos",
    "editor": "vim neovim emacs vs_code helix pycharm intellij webstorm",
    "operating system": "windows linux macos ubuntu debian fedora",
    "cloud": "aws azure gcp hetzner digitalocean",
    "browser": "firefox chrome safari",
    "package manager": "pip pdm conda npm yarn pnpm",
    "version control": "git mercurial svn subversion perforce",
    "tracker": "jira trello asana bugzilla redmine",
    "ci": "jenkins buildbot buildkite circleci travis teamcity github_actions gitlab_ci",
    "chat": "slack discord mattermost zulip telegram whatsapp",
}
"""Members of kinds by the noun of the kind. They stand for hardly anything else. A «_» is a gap that some write."""
_NOUNS = {
    "os": "operating system",
    "system": "operating system",
    "db": "database",
    "beverage": "drink",
    "ide": "editor",
    "provider": "cloud",
}
_WIDER = {"cappuccino espresso latte macchiato americano cortado mocha": "coffee", "matcha chai rooibos": "tea"}

_KIND = {word.replace("_", ""): kind for kind, words in KIND_MEMBERS.items() for word in words.split()}
_MORE_GENERAL = {word: wide for words, wide in _WIDER.items() for word in words.split()}
MEMBERS = "|".join(sorted(" ".join(KIND_MEMBERS.values()).replace("_", r"\s?").split(), key=len, reverse=True))
"""A pattern of the members of all kinds."""
KIND_NOUNS = "|".join(sorted((*KIND_MEMBERS, *_NOUNS), key=len, reverse=True))
"""A pattern of the nouns of the kinds."""

ROOMS = frozenset(
    "kitchen hall hallway bedroom garage shed cellar basement attic loft office house flat garden car bathroom pantry "
    "study porch barn workshop lobby laundry corridor balcony".split()
)
"""Where a thing is, however it is kept there."""
CONTAINERS = frozenset(
    "drawer pot flowerpot planter mat doormat rug hook shelf cupboard box tin jar vase stone brick bag pocket safe "
    "desk wardrobe cabinet chest basket bowl tray folder envelope table fridge freezer bench bucket rack nail backpack "
    "suitcase glovebox briefcase dresser nightstand bookcase locker toolbox".split()
)
"""What holds or covers a thing: it is in, on or under one of them."""
WIDE = frozenset(
    "africa america asia australia austria bavaria belgium brazil britain bulgaria california canada catalonia "
    "chile china colombia cornwall croatia cyprus czechia denmark egypt england estonia europe finland florida "
    "france georgia germany ghana greece greenland hawaii hungary iceland india indonesia iran iraq ireland israel "
    "italy japan kenya korea latvia lithuania malaysia malta mexico morocco nepal netherlands nigeria norway "
    "pakistan peru philippines poland portugal romania russia scandinavia scotland serbia slovakia slovenia spain "
    "sweden switzerland syria taiwan texas thailand tunisia turkey tuscany uk ukraine usa us vietnam wales zealand "
    "kingdom states emirates county province region".split()
)
"""Words of countries and regions: who lives in one may live in a town of it."""


def kind_of(text: str) -> str:
    """Return the kind of the last word of a text that is a member of one, or an empty text."""
    found = re.findall(rf"\b(?:{MEMBERS})\b", text.lower())
    return _KIND["".join(found[-1].split())] if found else ""


def kind_named(text: str) -> str:
    """Return the kind whose noun ends a text, or an empty text: «drink» of «usual drink»."""
    words = " ".join(re.findall(r"[^\W_]+", text.lower()))
    found = re.search(rf"\b({KIND_NOUNS})s?\Z", words)
    return _NOUNS.get(found[1], found[1]) if found else ""


def more_general(text: str) -> frozenset[str]:
    """Return the members of which words of a text are kinds themselves: «coffee» of «oat cappuccino»."""
    return frozenset(_MORE_GENERAL[word] for word in re.findall(r"\w+", text.lower()) if word in _MORE_GENERAL)
