"""`@horus.message` declares custom messages."""

from collections.abc import Iterable
from typing import Annotated, Any, Generic, Self, TypeVar, dataclass_transform, overload

import numpy.typing as npt

class _Number:
    name: str
    def __init__(self, name: str) -> None: ...

u8 = Annotated[int, _Number("u8")]
u16 = Annotated[int, _Number("u16")]
u32 = Annotated[int, _Number("u32")]
u64 = Annotated[int, _Number("u64")]
i8 = Annotated[int, _Number("i8")]
i16 = Annotated[int, _Number("i16")]
i32 = Annotated[int, _Number("i32")]
i64 = Annotated[int, _Number("i64")]
f32 = Annotated[float, _Number("f32")]
f64 = Annotated[float, _Number("f64")]

default: Any
"""The default of a field of any type. The field may be omitted."""

_T = TypeVar("_T")
_N = TypeVar("_N")
_C = TypeVar("_C", bound=type[Any])

class Array(Generic[_T, _N]):
    """`Array[f64, Literal[9]]` is an array of 9 numbers, texts or messages.

    Numbers are a numpy array that is a view of the message; texts and messages are a tuple.
    """

    element: Any
    count: int
    def __init__(self, element: Any, count: int) -> None: ...
    def __class_getitem__(cls, arguments: Any) -> Any: ...
    @overload
    def __get__(self, message: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(
        self: Array[float, Any], message: object, owner: type[Any]
    ) -> npt.NDArray[Any]: ...
    @overload
    def __get__(
        self: Array[Text[Any], Any], message: object, owner: type[Any]
    ) -> tuple[str, ...]: ...
    @overload
    def __get__(self, message: object, owner: type[Any]) -> tuple[_T, ...]: ...
    def __set__(
        self, message: object, value: Iterable[_T] | Iterable[str] | npt.NDArray[Any]
    ) -> None: ...

class Text(Generic[_N]):
    """`Text[Literal[32]]` is UTF-8 text of at most 32 bytes. Its value is a `str`."""

    size: int
    def __init__(self, size: int) -> None: ...
    def __class_getitem__(cls, size: Any) -> Any: ...
    @overload
    def __get__(self, message: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, message: object, owner: type[Any]) -> str: ...
    def __set__(self, message: object, value: str | bytes) -> None: ...

class Tail(Generic[_T, _N]):
    """`Tail[f32, Literal["count"]]`, as the last field, is any number of numbers.

    The unsigned field called `count` says how many. They are a numpy array that is a view of the
    message. Setting them copies any sequence, and sets `count`.
    """

    element: Any
    count: str
    def __init__(self, element: Any, count: str) -> None: ...
    def __class_getitem__(cls, arguments: Any) -> Any: ...
    @overload
    def __get__(self, message: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, message: object, owner: type[Any]) -> npt.NDArray[Any]: ...
    def __set__(self, message: object, value: Iterable[_T] | npt.NDArray[Any]) -> None: ...

@dataclass_transform(kw_only_default=True)
def message(cls: _C) -> _C:
    """Makes a message type of an annotated class; it can be declared equally in Rust and C++.

    For type checkers, a class that derives from `horus.Message`, or with a `Tail` from
    `horus.Framed`, has the members of messages. A field with a default may be omitted;
    `horus.default` is a default for all types.
    """
