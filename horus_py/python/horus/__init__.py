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
    Context,
    Error,
    Ext,
    Figures,
    ForkedError,
    Framed,
    FullError,
    Handle,
    Message,
    Namespace,
    NamespaceError,
    NoPinsError,
    NodeReport,
    OpenTopicError,
    OrderError,
    PlanError,
    Publisher,
    Ready,
    RegionLostError,
    RemoteScheduler,
    Report,
    Scheduler,
    SchedulerError,
    SchedulerInfo,
    SchemaMismatchError,
    SendFailedError,
    Stats,
    Subscriber,
    Swap,
    Topic,
    WaitSet,
    __build_profile__,
    __version__,
    black_box,
    forget,
    schedulers,
    timestamp_now_ns,
)
from ._messages import *  # noqa: F403
from ._node import Node, Restart, Skip, run

__all__ = [
    "Array",
    "BusyError",
    "ClosedError",
    "Context",
    "Error",
    "Ext",
    "Figures",
    "ForkedError",
    "Framed",
    "FullError",
    "Handle",
    "Message",
    "Namespace",
    "NamespaceError",
    "NoPinsError",
    "Node",
    "NodeReport",
    "OpenTopicError",
    "OrderError",
    "PlanError",
    "Publisher",
    "Ready",
    "RegionLostError",
    "RemoteScheduler",
    "Report",
    "Restart",
    "Scheduler",
    "SchedulerError",
    "SchedulerInfo",
    "SchemaMismatchError",
    "SendFailedError",
    "Skip",
    "Stats",
    "Subscriber",
    "Swap",
    "Text",
    "Topic",
    "WaitSet",
    "__build_profile__",
    "__version__",
    "black_box",
    "f32",
    "f64",
    "forget",
    "i16",
    "i32",
    "i64",
    "i8",
    "message",
    "run",
    "schedulers",
    "timestamp_now_ns",
    "u16",
    "u32",
    "u64",
    "u8",
]
__all__ += _messages.__all__

# Threads that wait must not come back to an interpreter that ends.
atexit.register(_horus._exiting)
# Schedulers end before that, as long as their nodes can.
atexit.register(_horus._end_schedulers)
