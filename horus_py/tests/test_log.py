"""Logging: records of `logging` in the log of the process, which outlives it."""

import logging
import re

import horus
import pytest
from conftest import Program

READY = "\nprint('ready', flush=True)\ninput()\n"


def lines(namespace):
    """Returns the lines of all processes as level, node, target and text, oldest first."""
    found = []
    for topic in horus.topics(namespace):
        if topic.startswith("horus/log/"):
            with horus.Subscriber(topic, horus.LogLine, namespace=namespace) as log:
                while (line := log.recv()) is not None:
                    text = line.to_numpy().tobytes().decode(errors="replace")
                    found.append((line.monotonic_ns, line.level, line.node, line.target, text))
    return [line[1:] for line in sorted(found)]


def killed(script, **options):
    """Runs a script until it is ready, and kills it."""
    program = Program(script + READY, **options)
    assert program.line() == "ready"
    program.kill()


def test_the_last_line_of_a_killed_process_is_kept(namespace):
    killed(
        """
import logging, horus
horus.log_to_topic("camera", stderr=False)
logging.getLogger("driver.usb").warning("the %s is at %d %%", "battery", 7)
logging.debug("never")
logging.critical("last")
"""
    )
    assert lines(namespace) == [
        (horus.LogLine.WARN, "camera", "driver.usb", "the battery is at 7 %"),
        (horus.LogLine.ERROR, "camera", "root", "last"),
    ]


def test_an_empty_variable_means_what_no_variable_means(python, namespace, monkeypatch):
    monkeypatch.setenv("HORUS_LOG", "")
    python("""
import logging, horus
horus.log_to_topic(level=logging.DEBUG, stderr=False)
logging.debug("detail")
""")
    assert [text for *_, text in lines(namespace)] == ["detail"]


def test_an_invalid_variable_leaves_the_level_to_the_program(python, namespace, monkeypatch):
    monkeypatch.setenv("HORUS_LOG", "inof, nav=loud")
    python("""
import logging, horus
horus.log_to_topic(stderr=False)
logging.debug("detail")
logging.info("in")
""")
    assert [text for *_, text in lines(namespace)] == ["in"]


def test_the_environment_selects_lines_and_stderr_gets_them(python, namespace, monkeypatch):
    monkeypatch.setenv("HORUS_LOG", "warn,nav=debug")
    script = """
import logging, os, horus
horus.log_to_topic()
assert horus.log_to_topic("late") is logging.getLogger().handlers[0]
logging.info("out")
logging.getLogger("nav.map").debug("in")
"""
    stderr = python(script + "os.dup2(1, 2)\nlogging.warning('both\\nlines')\n")
    assert re.fullmatch(r"[\d:.]+Z WARN  late: both\n    \| lines\n", stderr), stderr
    assert [line[-1] for line in lines(namespace)] == ["in", "both\nlines"]


def test_a_logger_with_handlers_gets_no_second_copy(python, namespace):
    script = """
import logging, os, sys, horus
os.dup2(1, 2)
logging.basicConfig(stream=sys.stdout, format="mine: %(message)s")
horus.log_to_topic(level="WARNING")
logging.error("once")
logging.info("never")
"""
    assert python(script) == "mine: once\n"
    assert [line[-1] for line in lines(namespace)] == ["once"]


def test_a_traceback_is_split_and_complete(python, namespace):
    script = """
import logging, horus
horus.log_to_topic(stderr=False)
def deep(n):
    if n == 0:
        raise ValueError("x" * 2000)
    deep(n - 1) if n % 2 else (lambda: deep(n - 1))()
try:
    deep(30)
except ValueError:
    logging.exception("it failed: %s", "\\udc80")
"""
    python(script)
    found = lines(namespace)
    texts = [line[-1] for line in found]
    assert len(texts) > 3
    assert texts[0].startswith("it failed: \\udc80\nTraceback (most recent call last):")
    whole = "\n".join(texts)
    assert whole.count("in deep") == 31
    assert ("ValueError: " + "x" * 2000) in "".join(texts)
    assert {line[0] for line in found} == {horus.LogLine.ERROR}


def test_a_long_line_is_split_between_characters_and_complete(python, namespace):
    # Of 1 to 4 bytes each, so that a part would end within one.
    texts = ["x" * 3000, "aé" * 700, "→" * 600, "b\U0001f916" * 500, "ab\n" + "é" * 900 + "\nend"]
    script = "import logging, horus\nhorus.log_to_topic(stderr=False)\n"
    python(script + f"for text in {texts!r}: logging.warning('%s', text)")
    found = [line[-1] for line in lines(namespace)]
    assert all(len(part.encode()) <= 752 and "\ufffd" not in part for part in found)
    # Only the newlines between two parts are left out.
    assert "".join(found).replace("\n", "") == "".join(texts).replace("\n", "")


def test_a_node_is_named_and_a_forked_child_has_its_own_log(python, namespace):
    script = """
import logging, os, horus
horus.log_to_topic(stderr=False)
class Planner(horus.Node):
    def tick(self, context):
        logging.info("tick")
        context.stop()
horus.run(Planner(name="planner", rate=100))
logging.info("after")
child = os.fork()
if child == 0:
    logging.info("child")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    python(script)
    # WHY only these: on a busy machine there are also warnings of the scheduler.
    found = [
        (node, text)
        for level, node, _, text in lines(namespace)
        if level == horus.LogLine.INFO
    ]
    assert found == [("planner", "tick"), ("", "after"), ("", "child")]
    logs = [topic for topic in horus.topics(namespace) if topic.startswith("horus/log/")]
    assert len(logs) == 2


def test_errors_are_raised_at_the_start_and_not_by_lines(python, namespace):
    script = """
import logging, horus
space = horus.Namespace.current()
handler = horus.LogHandler("n", namespace=space, lines=100)
record = logging.LogRecord("x", 20, "f.py", 1, "%d", ("no number",), None)
logging.raiseExceptions = False
handler.handle(record)
handler.handle(logging.LogRecord("x", 20, "\\udc80.py", 1, "fine", None, None))
"""
    python(script)
    assert lines(namespace) == [(horus.LogLine.INFO, "n", "x", "fine")]
    with pytest.raises(horus.NamespaceError):
        horus.LogHandler(namespace=horus.Namespace("/proc/no/such", "x"))
    assert not [h for h in logging.getLogger().handlers if isinstance(h, horus.LogHandler)]
