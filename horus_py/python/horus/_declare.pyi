"""`@horus.message`: messages that a program declares itself."""

from typing import Annotated, Any, Generic, TypeVar, dataclass_transform

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

_T = TypeVar("_T")
_N = TypeVar("_N")
_C = TypeVar("_C", bound=type[Any])

class Array(Generic[_T, _N]):
    """`Array[f64, Literal[9]]`: so many numbers, texts or messages, one after the other."""

    element: Any
    count: int
    def __init__(self, element: Any, count: int) -> None: ...
    def __class_getitem__(cls, arguments: Any) -> Any: ...

class Text(Generic[_N]):
    """`Text[Literal[32]]`: UTF-8 of at most so many bytes."""

    size: int
    def __init__(self, size: int) -> None: ...
    def __class_getitem__(cls, size: Any) -> Any: ...

@dataclass_transform(kw_only_default=True)
def message(cls: _C) -> _C:
    """Makes a message of an annotated class, the same in Rust and C++."""
