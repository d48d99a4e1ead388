"""The keywords of publishers, subscribers and topics; only for type checkers."""

from typing import Literal, TypedDict

from ._horus import Namespace


class Qos(TypedDict, total=False):
    """The offer of a publisher. Of a subscriber only four count: reliability, `strict`,
    `strict_schema`, `subscribers_max`.

    `capacity` is the number of slots, from 2 to 2**20, rounded up to a power of two; by default 16
    to 1024 by message size, and 4 above 1 MiB. `detach_stalled_after` is in seconds."""

    qos: Literal["default", "sensor_data", "reliable", "command", "latched"] | None
    reliability: Literal["reliable", "best_effort"] | None
    capacity: int | None
    history: int | None
    persist_after_exit: bool | None
    latch_key: str | None
    wake_barrier: Literal["fence", "membarrier"] | None
    pinnable: bool | None
    strict: bool | None
    strict_schema: bool | None
    publishers_max: int | None
    subscribers_max: int | None
    detach_stalled_after: float | None
    max_message_bytes: int | None
    namespace: Namespace | None


class SubscriberQos(Qos, total=False):
    observe: bool | None


class TopicQos(Qos, total=False):
    ignore_own: bool | None
