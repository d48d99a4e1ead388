"""The default of the keyword `latch_key`."""

from __future__ import annotations

import os
import sys


def default_latch_key() -> str | None:
    """Returns the name of the program of which this process is a child by `multiprocessing`.

    Returns `None` in other processes, whose command line has the name of the program. WHY: that of
    such a child has the numbers of descriptors, which differ from start to start.
    """
    if not any(argument.startswith("from multiprocessing.") for argument in sys.orig_argv):
        return None
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if spec is not None:
        # The program was started by `python -m`.
        return str(spec.name)
    directory, name = os.path.split(sys.argv[0] if sys.argv else "")
    return os.path.basename(directory) if name == "__main__.py" else name
