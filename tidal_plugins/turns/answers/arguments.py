"""Arguments that the tools share: strict, bounded, and described for a model."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, StringConstraints, model_validator

from tidal_plugins.model.clock import aware
from tidal_plugins.turns.answers.answer import MAX_CURSOR, MAX_RESULTS

MAX_QUERY = 2_000
"""Characters of a question."""

MAX_REFERENCE = 1_000
"""Characters of the name of a thread or an entity: as many as any name in a memory may have."""

MAX_CITATION = 100
"""Characters of an id with what stands around it. Those of this library have 13."""


class Arguments(BaseModel):
    """The arguments of a tool. Unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        """Refuse a span of time that ends before it begins: an empty answer would be read as «there was nothing»."""
        since, until = getattr(self, "since", None), getattr(self, "until", None)
        if since is not None and until is not None and since > until:
            raise ValueError("since lies after until: exchange them")
        return self


def _time(value: Any) -> datetime:
    """Return a time that is given as such or as ISO 8601; without a zone it is UTC."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            value = None
    if not isinstance(value, datetime):
        raise ValueError("give a time such as 2026-03-01T12:00:00Z")
    return aware(value if value.tzinfo else value.replace(tzinfo=UTC))


MAX_NOTE = 8_000
"""Characters of a note that a model saves."""

MAX_NOTE_TAGS = 20
"""Tags of a note that a model saves."""

MAX_IDS = 10
"""Memories that are read, or forgotten, at once."""

Query = Annotated[str, StringConstraints(min_length=1, max_length=MAX_QUERY)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_REFERENCE)]
Citation = Annotated[str, StringConstraints(min_length=1, max_length=MAX_CITATION)]
Cursor = Annotated[str, StringConstraints(min_length=1, max_length=MAX_CURSOR)]
Limit = Annotated[int, Strict(), Field(ge=1, le=MAX_RESULTS)]
Flag = Annotated[bool, Strict()]
Time = Annotated[datetime, BeforeValidator(_time)]
Kind = Literal["conversation", "skill", "kb", "fact", "dossier", "episode"]


class SaveArguments(Arguments):
    text: str = Field(min_length=1, max_length=MAX_NOTE, description="What to keep, as a statement that stands alone.")
    kind: Literal["fact", "skill", "kb"] = Field("fact", description="A fact, a way to do something, or a document.")
    tags: list[str] | None = Field(None, max_length=MAX_NOTE_TAGS, description="Words under which to find it again.")


PREDICATE = "A verb in snake_case, such as lives_in, works_at, uses, prefers, responsible_for, depends_on, sister_of."
USUAL = Field(None, description="From when it is so, ISO 8601. Leave out for: from now on.")
Type = Annotated[str, StringConstraints(min_length=1, max_length=64)]


class FactArguments(Arguments):
    subject: Name = Field(description="Whom or what it is about, by name; «user» for the user.")
    predicate: Name = Field(description=PREDICATE)
    object: Name = Field(description="The value: a place, a number, a version, a preference, a date …")
    since: Time | None = USUAL


class RelateArguments(Arguments):
    subject: Name = Field(description="The name of a person or a thing; «user» for the user.")
    predicate: Name = Field(description=PREDICATE)
    object: Name = Field(description="The name of the other person or thing.")
    subject_type: Type | None = Field(None, description="What the subject is: person, file, service, organisation …")
    object_type: Type | None = Field(None, description="What the object is.")
    negated: Flag = Field(False, description="Whether this is not so.")
    ended: Flag = Field(False, description="Whether it was so and is over.")
    since: Time | None = USUAL
    until: Time | None = Field(None, description="Until when it is so, ISO 8601.")


REMEMBER_FACT = (
    "Write down one fact about somebody or something as subject, predicate and value, such as user, lives_in, Porto. "
    "It replaces an earlier value where there can be only one. Only what was said or found out, never a guess."
)
RELATE = (
    "Write down how two people or things are related, such as Ana, manager_of, Ben; or that they are not, or are no "
    "longer. Only what was said or found out, never a guess."
)


class ForgetArguments(Arguments):
    ids: list[Citation] = Field(
        min_length=1,
        max_length=MAX_IDS,
        description="Citations such as ep:6k1m or mem:2q7z of what to remove for good.",
    )
