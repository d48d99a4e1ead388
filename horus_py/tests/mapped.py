"""The memory of this process that lies in files, for tests of arrays that are not copied."""


def address(array):
    return array.__array_interface__["data"][0]


def mappings(path):
    """Returns the address ranges at which this process has mapped the files below the path."""
    with open("/proc/self/maps") as maps:
        lines = [line.split() for line in maps if path in line]
    return [[int(end, 16) for end in line[0].split("-")] for line in lines]


def is_mapped(where, path):
    return any(begin <= where < end for begin, end in mappings(path))
