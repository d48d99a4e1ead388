"""Logging: a handler of `logging` that writes to the log of this process.

    import logging
    import horus

    horus.log_to_topic()
    logging.warning("the battery is at %d %%", 7)

The command `horus log` shows the lines of all processes, also of those that were killed.
"""

from __future__ import annotations

import logging
import os
import pathlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ._horus import _LOG_TEXT_BYTES_MAX, _is_log_enabled, _log, _log_max_level, _open_log

if TYPE_CHECKING:
    from ._horus import Namespace

__all__ = ["LogHandler", "log_to_topic"]

# The levels of horus, each with the least number of Python's that has it.
_LEVELS = ((logging.ERROR, 1), (logging.WARNING, 2), (logging.INFO, 3), (logging.DEBUG, 4))
_TRACE = 5
_NAMES = ("off", "error", "warn", "info", "debug", "trace")
# The levels of `logging` for those of horus, from `off` on.
_PYTHON_LEVELS = (
    logging.CRITICAL + 1,
    logging.ERROR,
    logging.WARNING,
    logging.INFO,
    logging.DEBUG,
    1,
)


class LogHandler(logging.Handler):
    """Writes records to the log of this process, a topic that stays after the process was killed.

    The name of the record's logger becomes the target of the line, and `node` its node; if it is
    empty, that is the node that ticks on this thread. A text of more than 752 bytes, such as a
    traceback, is split between its lines, and a longer line of it between characters.

    The first handler of a process opens the log, with `stderr`, `lines` and `namespace`; later ones
    use it as it is. With `stderr`, lines are also written to stderr. `lines` is the number of lines
    that are kept at least, 448 by default. The environment variable HORUS_LOG, such as
    `info,planner=debug`, selects lines here, after the levels of the loggers.

    Raises `Error` if the log cannot be opened.
    """

    def __init__(
        self,
        node: str = "",
        *,
        level: int | str = logging.NOTSET,
        stderr: bool = False,
        lines: int | None = None,
        namespace: Namespace | None = None,
    ) -> None:
        super().__init__(level)
        self.node = node
        # WHY all by default: the levels of Python's loggers have selected the records already.
        _open_log(_program(), _NAMES[_TRACE], stderr, lines, namespace)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            level = _level(record.levelno)
            if not _is_log_enabled(level, self.node, record.name):
                return
            text = self.format(record).encode("utf-8", "backslashreplace")
            source = (_path(record.pathname), max(record.lineno, 0))
            for part in _parts(text):
                _log(level, self.node, record.name, source, part)
        except RecursionError:
            raise
        except Exception:  # noqa: BLE001 as all handlers of `logging`
            self.handleError(record)


def log_to_topic(
    node: str = "",
    *,
    level: int | str = logging.INFO,
    stderr: bool | None = None,
    lines: int | None = None,
    namespace: Namespace | None = None,
) -> LogHandler:
    """Makes the root logger write to the log of this process, from `level` on; returns the handler.

    The environment variable HORUS_LOG, such as `info,planner=debug`, is preferred to `level`.
    Without `stderr`, lines are written to stderr if the root logger has no handler yet. If it has
    a `LogHandler` already, returns that one, and only sets its node and the level. The other
    arguments are those of `LogHandler`.
    """
    root = logging.getLogger()
    found = [handler for handler in root.handlers if isinstance(handler, LogHandler)]
    if found:
        handler = found[0]
        handler.node = node
    else:
        stderr = not root.handlers if stderr is None else stderr
        handler = LogHandler(node, stderr=stderr, lines=lines, namespace=namespace)
        root.addHandler(handler)
    level_max = _log_max_level()
    root.setLevel(level if level_max is None else _PYTHON_LEVELS[level_max])
    return handler


def _level(number: int) -> int:
    return next((level for least, level in _LEVELS if number >= least), _TRACE)


def _program() -> str:
    """Returns the name of the script, or of the interpreter if there is none."""
    script = sys.argv[0] if sys.argv else ""
    if script in ("", "-c", "-m"):
        script = sys.executable or "python"
    name = pathlib.Path(script)
    return name.parent.name if name.name == "__main__.py" else name.stem


def _path(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "replace")


def _parts(text: bytes) -> Iterator[bytes]:
    """Splits a text of UTF-8 that is too long for one line of the log.

    Splits it between its own lines if possible; otherwise between two characters.
    """
    start = 0
    while len(text) - start > _LOG_TEXT_BYTES_MAX:
        longest = start + _LOG_TEXT_BYTES_MAX
        end = text.rfind(b"\n", start + 1, longest + 1)
        if end > 0:
            yield text[start:end]
            start = end + 1
            continue
        # WHY: such a byte is not the first one of a character.
        while text[longest] & 0xC0 == 0x80:
            longest -= 1
        yield text[start:longest]
        start = longest
    yield text[start:]
