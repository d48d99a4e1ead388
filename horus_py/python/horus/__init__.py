"""Shared-memory topics between processes, in Python.

    import horus

    publisher = horus.Publisher("cmd_vel", horus.CmdVel)
    publisher.send(horus.CmdVel.now(linear=0.5))
"""

import atexit

from . import _horus, _messages
from ._declare import Array, Text, f32, f64, i8, i16, i32, i64, message, u8, u16, u32, u64
from ._horus import (
    BusyError,
    ClosedError,
    Error,
    ForkedError,
    FullError,
    Message,
    Namespace,
    NamespaceError,
    OpenTopicError,
    Publisher,
    Ready,
    RegionLostError,
    SchemaMismatchError,
    SendFailedError,
    Stats,
    Subscriber,
    Topic,
    WaitSet,
    __build_profile__,
    __version__,
    timestamp_now_ns,
)
from ._messages import *  # noqa: F403

__all__ = [
    "Array",
    "BusyError",
    "ClosedError",
    "Error",
    "ForkedError",
    "FullError",
    "Message",
    "Namespace",
    "NamespaceError",
    "OpenTopicError",
    "Publisher",
    "Ready",
    "RegionLostError",
    "SchemaMismatchError",
    "SendFailedError",
    "Stats",
    "Subscriber",
    "Text",
    "Topic",
    "WaitSet",
    "__build_profile__",
    "__version__",
    "f32",
    "f64",
    "i8",
    "i16",
    "i32",
    "i64",
    "message",
    "timestamp_now_ns",
    "u8",
    "u16",
    "u32",
    "u64",
]
__all__ += _messages.__all__

# Threads that wait must not come back to an interpreter that ends.
atexit.register(_horus._exiting)
