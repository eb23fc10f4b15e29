"""The rules that a signal is held against, in this order: duration, count, deny, allow [tidalDB]."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from tidal_plugins.errors import PolicyViolation
from tidal_plugins.model.session import SessionInfo

UNNAMED = "of the session"


def violation(info: SessionInfo, type: str, now: datetime) -> PolicyViolation | None:
    """Return why the policy of a session refuses a signal of this type now, or ``None``."""
    policy, name, most = info.policy, info.policy_name or UNNAMED, info.policy.max_duration
    refused = partial(PolicyViolation, signal=type, policy=name)
    if most is not None and (not most or now - info.opened_at > most):  # none at all, on a clock that stands, too
        return refused(f"the session may last {policy.max_duration}: open a new one", rule="max_duration")
    if info.remaining == 0:
        return refused(f"the session has its {policy.max_signals} signals already", rule="max_signals")
    if type in policy.deny:
        return refused(f"{type} is denied", rule="deny")
    if policy.allow and type not in policy.allow:
        return refused(f"only these are allowed: {', '.join(sorted(policy.allow))}", rule="allow")
    return None
