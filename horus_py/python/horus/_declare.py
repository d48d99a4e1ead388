"""`@horus.message` declares custom messages."""

import inspect
import types
import typing

from . import _horus

# Marks, for type checkers, a field that may be omitted.
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


def _length(length, example):
    if typing.get_origin(length) is typing.Literal:
        (length,) = typing.get_args(length)
    if not isinstance(length, int) or length < 1:
        raise TypeError(f"{length!r} is no length: give an integer of at least 1, as in {example}")
    return length


def _element_and_count(arguments, example):
    if not isinstance(arguments, tuple) or len(arguments) != 2:
        raise TypeError(f"an element and its count are wanted, as in {example}")
    return arguments


class Array:
    """`Array[f64, 9]` is an array of 9 numbers, texts or messages."""

    def __init__(self, element, count):
        self.element, self.count = element, count

    def __class_getitem__(cls, arguments):
        element, count = _element_and_count(arguments, "Array[f64, 9]")
        return cls(element, _length(count, "Array[f64, 9]"))


class Text:
    """`Text[32]` is UTF-8 text of at most 32 bytes."""

    def __init__(self, size):
        self.size = size

    def __class_getitem__(cls, size):
        return cls(_length(size, "Text[32]"))


class Tail:
    """`Tail[f32, "count"]`, as the last field, is any number of numbers, counted by `count`."""

    def __init__(self, element, count):
        self.element, self.count = element, count

    def __class_getitem__(cls, arguments):
        element, count = _element_and_count(arguments, "Tail[f32, 'count']")
        if typing.get_origin(count) is typing.Literal:
            (count,) = typing.get_args(count)
        if not isinstance(count, str):
            raise TypeError(f"{count!r} is no name of a field: write Tail[f32, 'count']")
        return cls(element, count)


def _split_tail(name, annotations):
    """Takes the tail out of the annotations, as the native module expects it; None without one."""
    tails = [field for field, annotation in annotations.items() if isinstance(annotation, Tail)]
    if not tails:
        return None
    if tails != list(annotations)[-1:]:
        raise TypeError(f"{name}.{tails[0]} is a Tail: put one, and behind all other fields")
    tail = annotations.pop(tails[0])
    element, count = _element(f"{name}.{tails[0]}", tail.element)
    if count is not None or not isinstance(element, str) or element.startswith("text:"):
        raise TypeError(f"{name}.{tails[0]}: the elements of a Tail are numbers, as horus.f32")
    return tails[0], element, tail.count


def _element(name, annotation):
    """Returns the type of a field, as the native module expects it, and the length of an array.

    The length is None if the field is no array.
    """
    if isinstance(annotation, Array):
        element, count = _element(name, annotation.element)
        return element, (count or 1) * annotation.count
    if isinstance(annotation, Text):
        return f"text:{annotation.size}", None
    for part in getattr(annotation, "__metadata__", ()):
        if isinstance(part, _Number):
            return part.name, None
    if isinstance(annotation, type) and issubclass(annotation, _horus.Message):
        return annotation, None
    raise TypeError(
        f"{name}: {annotation!r} cannot be a field of a message: use horus.u8 to u64, i8 to i64, "
        "f32, f64, Text[bytes], Array[type, count] or another message of a fixed size"
    )


def message(cls):
    """Makes a message type of an annotated class; it can be declared equally in Rust and C++.

    Fields are laid out in the order of their declaration, without gaps. A field may have a default
    value; otherwise the default is 0, or that of the nested message. For type checkers, a field
    without a default is required; `horus.default` gives it the usual default. Methods are kept.

    The last field may be a `Tail`. The size of the fields before it should be a multiple of 64.
    """
    annotations = inspect.get_annotations(cls, eval_str=True)
    tail = _split_tail(cls.__name__, annotations)
    base = _horus.Message if tail is None else _horus.Framed
    if cls.__mro__[1:] not in ((object,), (base, object)):
        text = f"{cls.__name__} has a base class, but can only derive from horus.{base.__name__}"
        raise TypeError(f"{text}: put all fields into the class itself")
    fields = [
        (name, *_element(f"{cls.__name__}.{name}", annotation))
        for name, annotation in annotations.items()
    ]
    given = {name: vars(cls)[name] for name in annotations if name in vars(cls)}
    defaults = {name: value for name, value in given.items() if value is not default}
    names = (cls.__module__, cls.__name__, cls.__doc__ or "")
    if tail is not None and vars(cls).get(tail[0], default) is not default:
        raise TypeError(f"{cls.__name__}.{tail[0]} is a Tail, which has no default: remove it")
    made = _horus._declare(names, fields, tail, defaults)
    for name, value in vars(cls).items():
        if name not in (*_TAKEN, *annotations, *(tail or ())[:1]):
            setattr(made, name, value)
            _replace_class(value, cls, made, set())
    return made


# The attributes of decorators, properties and the like that have the function of a method.
_FUNCTIONS = ("__func__", "__wrapped__", "fget", "fset", "fdel", "func")


def _replace_class(member, before, after, seen):
    """Makes `super()` and `__class__` in the functions of a class mean another class."""
    if id(member) in seen:
        return
    seen.add(id(member))
    for cell in getattr(member, "__closure__", None) or ():
        try:
            content = cell.cell_contents
        except ValueError:
            continue
        if content is before:
            cell.cell_contents = after
        elif isinstance(content, types.FunctionType):
            _replace_class(content, before, after, seen)
    for name in _FUNCTIONS:
        function = inspect.getattr_static(member, name, None)
        if function is not None:
            _replace_class(getattr(member, name), before, after, seen)
