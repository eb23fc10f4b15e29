"""The rules that a signal is held against, in this order: duration, count, deny, allow [tidalDB]."""

from __future__ import annotations

from datetime import datetime

from tidal_plugins.errors import PolicyViolation, SessionExpired, SignalCapReached, SignalDenied, SignalNotAllowed
from tidal_plugins.model.session import SessionInfo

UNNAMED = "of the session"


def violation(info: SessionInfo, type: str, now: datetime) -> PolicyViolation | None:
    """Return why the policy of a session refuses a signal of this type now, or ``None``."""
    policy, name, most = info.policy, info.policy_name or UNNAMED, info.policy.max_duration
    if most is not None and (not most or now - info.opened_at > most):  # none at all, on a clock that stands, too
        return SessionExpired(f"the session may last {policy.max_duration}: open a new one", signal=type, policy=name)
    if info.remaining == 0:
        return SignalCapReached(f"the session has its {policy.max_signals} signals already", signal=type, policy=name)
    if type in policy.deny:
        return SignalDenied(f"{type} is denied", signal=type, policy=name)
    if policy.allow and type not in policy.allow:
        allowed = ", ".join(sorted(policy.allow))
        return SignalNotAllowed(f"only these are allowed: {allowed}", signal=type, policy=name)
    return None
