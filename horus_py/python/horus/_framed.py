"""Conversion between numpy structured types and messages whose elements are structures."""

from ._messages import Joint, NodeMetrics, PointField

# The messages whose elements are other messages: the type of the elements, and the field with the
# stride from one to the next.
_ELEMENTS = {
    "SchedulerStatus": (NodeMetrics, "node_bytes"),
    "JointStateArray": (Joint, "joint_bytes"),
}

# The codes of element types, by their numpy names.
_CODES = {
    "u1": 1,
    "i1": 2,
    "u2": 3,
    "i2": 4,
    "u4": 5,
    "i4": 6,
    "u8": 7,
    "i8": 8,
    "f2": 9,
    "f4": 11,
    "f8": 12,
    "b1": 13,
}
# A type without a numpy name (bfloat16) is shown as its bits.
_NAMES = {**{code: name for name, code in _CODES.items()}, 10: "u2"}


def describe(message, dtype, shape):
    """Sets the header of a message from the type and shape of a structured array."""
    name = type(message).__name__
    if name not in _ELEMENTS:
        _describe_points(message, dtype, shape)
        return
    element, stride = _ELEMENTS[name]
    if dtype != element.__horus_dtype__ or len(shape) != 1:
        raise TypeError(
            f"an array of the shape {shape} and the type {dtype} cannot be the data of a {name}: "
            f"use one dimension and the type horus.{element.__name__}.__horus_dtype__"
        )
    message.count = shape[0]
    setattr(message, stride, dtype.itemsize)


def _describe_points(cloud, dtype, shape):
    fields = []
    for name in dtype.names:
        element, offset = dtype.fields[name][:2]
        count = 1
        for length in element.shape:
            count *= length
        code = _CODES.get(element.base.str[1:])
        if code is None or not element.base.isnative:
            raise TypeError(f"field '{name}' of the points has the type {element}: use a number")
        fields.append(PointField(name=name, offset=offset, count=count, dtype=code))
    possible = len(cloud.fields)
    if len(fields) > possible:
        raise ValueError(f"the points have {len(fields)} fields: use at most {possible}")
    if len(shape) not in (1, 2):
        raise ValueError(f"the array of points has {len(shape)} dimensions: use 1 or 2")
    cloud.fields = fields
    cloud.field_count = len(fields)
    cloud.height, cloud.width = (1, *shape)[-2:]
    cloud.point_step = dtype.itemsize
    cloud.row_step = dtype.itemsize * cloud.width
    cloud.is_dense = 1


def structure(message):
    """Returns the element type and, for each dimension, the element count and stride in bytes."""
    import numpy

    if type(message).__name__ in _ELEMENTS:
        element, stride = _ELEMENTS[type(message).__name__]
        return element.__horus_dtype__, [(message.count, getattr(message, stride))]
    order = ">" if message.is_bigendian else "<"
    fields = message.fields[: message.field_count]
    formats = [order + _NAMES[field.dtype] for field in fields]
    dtype = numpy.dtype(
        {
            "names": [field.name for field in fields],
            "formats": [
                (format, (field.count,)) if field.count > 1 else format
                for format, field in zip(formats, fields, strict=True)
            ],
            "offsets": [field.offset for field in fields],
            "itemsize": message.point_step,
        }
    )
    points = (message.width, message.point_step)
    if message.height == 1:
        return dtype, [points]
    return dtype, [(message.height, message.row_step), points]
