"""Schedulers and nodes that refer to each other are freed, also if they never ran."""

import gc
import pathlib
import time
import weakref

import horus
import pytest
from conftest import PATIENCE, until


def event_threads():
    tasks = pathlib.Path("/proc/self/task").iterdir()
    return [task for task in tasks if thread_name(task) == "horus-events\n"]


def thread_name(task):
    """Returns the name of a thread with a line end; None if it has ended."""
    # WHY: other threads of the library end once no topic is open, such as the one that checks names.
    # Opening the file then fails with ENOENT, and reading it with ESRCH.
    try:
        return (task / "comm").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None


class Keeps(horus.Node):
    """A node that keeps its scheduler, and has each hook."""

    def __init__(self, scheduler):
        super().__init__("keeps", watchdog=PATIENCE, pubs={"made": horus.CmdVel})
        self.scheduler = scheduler
        self.handle = scheduler.handle()

    def tick(self, context):
        self.context = context

    def init(self, context):
        self.context = context

    def safe_state(self):
        pass

    def on_error(self, error):
        pass


class Awaits(Keeps):
    async def tick(self, context):
        self.context = context


def stops_on_event(namespace):
    scheduler = horus.Scheduler("cycle", namespace, on_event=lambda event: scheduler.stop())
    return scheduler, weakref.ref(scheduler)


def keeps(namespace, node=Keeps):
    scheduler = horus.Scheduler("cycle", namespace)
    node = scheduler.add(node(scheduler))
    return scheduler, weakref.ref(node)


def awaits(namespace):
    return keeps(namespace, Awaits)


@pytest.mark.parametrize("make", [stops_on_event, keeps, awaits])
def test_a_cycle_with_a_scheduler_that_never_ran_is_freed(namespace, make):
    gc.collect()
    threads = len(event_threads())
    scheduler, other = make(namespace)
    scheduler = weakref.ref(scheduler)
    gc.collect()
    assert scheduler() is None and other() is None
    assert len(event_threads()) == threads
    # The node's publisher is closed.
    assert horus.topics(namespace) == []


@pytest.mark.parametrize("make", [stops_on_event, keeps, awaits])
def test_what_is_used_is_kept_until_the_run_is_over(namespace, make):
    scheduler, other = make(namespace)
    if make is stops_on_event:
        scheduler.add(horus.Node("idle", tick=lambda context: None))
    gc.collect()
    assert other() is not None
    with scheduler:
        gc.collect()
        scheduler.tick_once()
    scheduler = weakref.ref(scheduler)
    # WHY with a limit: on a slow machine, the thread for events ends a little after the run.
    end = time.monotonic() + PATIENCE
    while scheduler() or other():
        assert time.monotonic() < end
        gc.collect()


def test_an_asynchronous_tick_that_exits_is_not_reported_again(namespace, caplog):
    async def leave(context):
        raise SystemExit(3)

    scheduler = horus.Scheduler("leaves", namespace)
    scheduler.add(horus.Node("leave", tick=leave))
    with pytest.raises(SystemExit) as raised:
        scheduler.run()
    del scheduler, raised
    # The task of the tick is freed.
    gc.collect()
    assert not caplog.records


class Message:
    """An object with attributes, which can be referred to weakly."""


def test_a_question_that_its_message_keeps_is_freed(directory):
    def handle(message, context):
        message.question = context.question()

    with horus.Actors("group") as actors:
        message = Message()
        kept = weakref.ref(message)
        # The handler keeps the question, so nobody answers it.
        with pytest.raises(TimeoutError):
            actors.spawn(handle).ask(message, timeout=0.1)
        # WHY: on a busy machine, the question is handled after the time is over.
        until(lambda: hasattr(message, "question"))
        assert message.question.message is message
        del message
        deadline = time.monotonic() + PATIENCE
        # The worker drops its reference after the handler has returned.
        while kept() is not None and time.monotonic() < deadline:
            gc.collect()
        assert kept() is None


def test_an_inbox_that_its_own_mail_keeps_is_freed_once_it_is_closed(directory):
    with horus.Actors("group") as actors:
        inbox, message = actors.inbox(), Message()
        message.inbox, kept = inbox, weakref.ref(message)
        inbox.tell(message)
        inbox.close()
        del message, inbox
        gc.collect()
        assert kept() is None
