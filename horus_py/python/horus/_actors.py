"""The classes of actors. They are here for their stubs."""

from ._horus import (
    ActorContext,
    ActorCounts,
    Actors,
    Address,
    Down,
    Inbox,
    InboxSet,
    Question,
    Timer,
)

__all__ = [
    "ActorContext",
    "ActorCounts",
    "Actors",
    "Address",
    "Down",
    "Inbox",
    "InboxSet",
    "Question",
    "Timer",
]
