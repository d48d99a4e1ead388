"""The live processes of a namespace."""

from typing import NamedTuple

from ._horus import Namespace, _processes


class ProcessInfo(NamedTuple):
    """A live process of a namespace.

    ``PublisherInfo`` and ``SubscriberInfo`` have the same ``process_id``.
    """

    process_id: int
    """Its id, as it sees it itself in its PID namespace."""
    process_name: str
    """Its command name."""
    start_time: int
    """Its start in clock ticks since boot, which tells a reused id apart."""
    is_own: bool
    """True for the process that called ``processes``."""


def processes(namespace: Namespace | None = None) -> list[ProcessInfo]:
    """Returns the live processes that have opened a namespace, also those without a topic."""
    return [ProcessInfo(*process) for process in _processes(namespace)]
