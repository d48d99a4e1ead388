"""The standard messages: what the native module made of the table of fields."""

from . import _horus

__all__ = sorted(_horus._STANDARD)
globals().update(_horus._STANDARD)
