"""The classes of actors. They are here for their stubs."""

from ._horus import (
    ActorContext,
    ActorCounters,
    Actors,
    Address,
    DisconnectedError,
    Down,
    InHandlerError,
    Inbox,
    InboxSet,
    NoAnswerError,
    Question,
    Timer,
)

__all__ = [
    "ActorContext",
    "ActorCounters",
    "Actors",
    "Address",
    "DisconnectedError",
    "Down",
    "InHandlerError",
    "Inbox",
    "InboxSet",
    "NoAnswerError",
    "Question",
    "Timer",
]
