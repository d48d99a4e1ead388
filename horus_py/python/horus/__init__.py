"""Shared-memory topics for robots."""

from ._horus import *  # noqa: F403
from ._horus import __build_profile__, __version__  # noqa: F401
