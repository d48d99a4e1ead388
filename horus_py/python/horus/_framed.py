"""Conversion between numpy structured types and messages whose elements are structures."""

from ._messages import NodeMetrics, PointField

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


def describe(cloud, dtype, shape):
    """Sets the header of a point cloud from the type and shape of a structured array."""
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

    if type(message).__name__ == "SchedulerStatus":
        dtype = NodeMetrics.__horus_dtype__
        return dtype, [(message.count, message.node_bytes)]
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
