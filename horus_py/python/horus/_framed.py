"""Messages whose data are structures: as numpy describes them."""

from ._messages import NodeMetrics, PointField

# The codes of types of elements, by what numpy calls them.
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
# Those that numpy has no name for are shown as their bits.
_NAMES = {**{code: name for name, code in _CODES.items()}, 10: "u2"}


def describe(cloud, dtype, shape):
    """Makes the header of a cloud that of a structured array."""
    fields = []
    for name in dtype.names:
        element, offset = dtype.fields[name][:2]
        count = 1
        for length in element.shape:
            count *= length
        code = _CODES.get(element.base.str[1:])
        if code is None or not element.base.isnative:
            raise TypeError(f"field '{name}' of the points is {element}, which is no number")
        fields.append(PointField(name=name, offset=offset, count=count, dtype=code))
    possible = len(cloud.fields)
    if len(fields) > possible:
        raise ValueError(f"{len(fields)} fields of a point, at most {possible} are possible")
    if len(shape) not in (1, 2):
        raise ValueError(f"points in {len(shape)} dimensions: one, or rows and columns")
    cloud.fields = fields
    cloud.field_count = len(fields)
    cloud.height, cloud.width = (1, *shape)[-2:]
    cloud.point_step = dtype.itemsize
    cloud.row_step = dtype.itemsize * cloud.width
    cloud.is_dense = 1


def structure(message):
    """The type of the elements; for each dimension how many, and how many bytes apart."""
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
