"""`@horus.message`: messages that a program declares itself."""

import inspect
import typing

from . import _horus

# For type checkers: a field that may be left out.
default = type("Default", (), {"__repr__": lambda self: "horus.default"})()

_TAKEN = {"__dict__", "__weakref__", "__module__", "__doc__", "__annotations__", "__qualname__"}


class _Number:
    """The type of a number in a message."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"horus.{self.name}"


u8 = typing.Annotated[int, _Number("u8")]
u16 = typing.Annotated[int, _Number("u16")]
u32 = typing.Annotated[int, _Number("u32")]
u64 = typing.Annotated[int, _Number("u64")]
i8 = typing.Annotated[int, _Number("i8")]
i16 = typing.Annotated[int, _Number("i16")]
i32 = typing.Annotated[int, _Number("i32")]
i64 = typing.Annotated[int, _Number("i64")]
f32 = typing.Annotated[float, _Number("f32")]
f64 = typing.Annotated[float, _Number("f64")]


def _length(length):
    if typing.get_origin(length) is typing.Literal:
        (length,) = typing.get_args(length)
    if not isinstance(length, int) or length < 1:
        raise TypeError(f"a length of {length!r}: give a number, 1 or more")
    return length


class Array:
    """`Array[f64, 9]`: so many numbers, texts or messages, one after the other."""

    def __init__(self, element, count):
        self.element, self.count = element, count

    def __class_getitem__(cls, arguments):
        element, count = arguments
        return cls(element, _length(count))


class Text:
    """`Text[32]`: UTF-8 of at most so many bytes."""

    def __init__(self, size):
        self.size = size

    def __class_getitem__(cls, size):
        return cls(_length(size))


def _element(name, annotation):
    """What the native module takes for the type of a field, and how many of them there are."""
    if isinstance(annotation, Array):
        element, count = _element(name, annotation.element)
        return element, count * annotation.count
    if isinstance(annotation, Text):
        return f"text:{annotation.size}", 1
    for part in getattr(annotation, "__metadata__", ()):
        if isinstance(part, _Number):
            return part.name, 1
    if isinstance(annotation, type) and issubclass(annotation, _horus.Message):
        return annotation, 1
    raise TypeError(
        f"{name}: {annotation!r} cannot be a field of a message: use horus.u8 to u64, i8 to i64, "
        "f32, f64, Text[bytes], Array[type, count] or another message"
    )


def message(cls):
    """Makes a message of an annotated class, the same in Rust and C++.

    Fields lie in the order in which they stand, without gaps. A default may be given; otherwise it
    is 0, or the default of the message inside; `horus.default` says the same to type checkers, for
    which a field without a default has to be given. Methods are kept.
    """
    if cls.__mro__[1:] not in ((object,), (_horus.Message, object)):
        text = f"{cls.__name__} inherits, and a message does not: put the fields in it"
        raise TypeError(f"{text} (from horus.Message it may, which only type checkers see)")
    annotations = inspect.get_annotations(cls, eval_str=True)
    fields = [
        (name, *_element(f"{cls.__name__}.{name}", annotation))
        for name, annotation in annotations.items()
    ]
    given = {name: vars(cls)[name] for name in annotations if name in vars(cls)}
    defaults = {name: value for name, value in given.items() if value is not default}
    names = (cls.__module__, cls.__name__, cls.__doc__ or "")
    made = _horus._declare(names, fields, defaults)
    for name, value in vars(cls).items():
        if name not in _TAKEN and name not in annotations:
            setattr(made, name, value)
    return made
