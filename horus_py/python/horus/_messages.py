"""The standard messages, which the native module makes from the table of fields."""

from . import _horus

__all__ = sorted(_horus._STANDARD)
globals().update(_horus._STANDARD)
