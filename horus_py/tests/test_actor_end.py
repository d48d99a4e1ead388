"""The ends of Python actors, of their messages and handlers, and of the interpreter."""

import gc
import os
import sys
import threading
import weakref

import horus
import pytest
from conftest import PATIENCE, until
from test_actor import Collects, Thing, actors, settle

__all__ = ["actors"]

# References.


def test_messages_are_released(directory):
    def alive(things):
        gc.collect()
        return sum(reference() is not None for reference in things)

    def things(count):
        made = [Thing() for _ in range(count)]
        return made, [weakref.ref(one) for one in made]

    scheduler = horus.Scheduler("robot")
    actors = scheduler.actors("fleet")
    handled, references = things(10)
    address = actors.spawn(lambda message, context: None, mailbox=20)
    address.tell_all(handled)
    del handled
    assert alive(references) == 10
    scheduler.start()
    until(lambda: alive(references) == 0)

    class Fails:
        def handle(self, messages, context):
            raise ValueError("no luck")

    failed, references = things(10)
    failing = actors.spawn(Fails(), batch=4)
    failing.tell_all(failed)
    del failed
    until(lambda: failing.disconnected and alive(references) == 0)
    # Refused messages.
    held = threading.Event()
    blocked = actors.spawn(lambda message, context: held.wait(PATIENCE), mailbox=1)
    blocked.tell(None)
    refused, references = things(4)
    for call in (
        lambda: blocked.tell(refused[0]),
        lambda: blocked.tell(refused[1], timeout=0.001),
        lambda: blocked.tell_all(refused[2:]),
        lambda: blocked.ask(refused[3]),
    ):
        with pytest.raises(horus.FullError):
            call()
    del refused
    assert alive(references) == 0
    # The latest message replaces another one, also while the only worker is held.
    latest = actors.spawn(lambda message, context: None, mailbox="latest")
    replaced, references = things(10)
    for one in replaced:
        latest.tell(one)
    del replaced, one
    assert alive(references) == 1, "the others were dropped at once"
    held.set()
    until(lambda: alive(references) == 0)
    # Those that wait at the end: in a mailbox, as a question, and in an inbox.
    waiting, references = things(4)
    first = threading.Event()

    def waits(message, context):
        first.set()
        assert has_stopped.wait(PATIENCE)

    has_stopped = threading.Event()
    keeps = actors.spawn(waits)
    keeps.tell(None)
    assert first.wait(PATIENCE)
    keeps.tell(waiting[0])
    keeps.tell(waiting[1])
    with pytest.raises(TimeoutError):
        keeps.ask(waiting[2], timeout=0.001)
    inbox = actors.inbox()
    inbox.tell(waiting[3])
    before = actors.counters().undelivered
    # WHY before: the actor must not handle the other messages.
    scheduler.stop()
    has_stopped.set()
    scheduler.finish()
    del waiting
    until(lambda: alive(references) == 1)
    assert actors.counters().undelivered == before + 3
    assert inbox.recv() is references[3]()
    with pytest.raises(horus.DisconnectedError):
        inbox.recv()
    assert alive(references) == 0


def test_handlers_are_released_with_their_actors(directory):
    references = []
    with horus.Actors("fleet") as actors:

        class Handler:
            def __init__(self):
                references.append(weakref.ref(self))

            def init(self, context):
                # A cycle, which ends with the group.
                self.own = context.address()

            def handle(self, message, context):
                context.stop()

        kept = [actors.spawn(Handler()) for _ in range(10)]
        kept += [actors.spawn(Handler) for _ in range(10)]
        for address in kept[::2]:
            address.tell("stop")
        until(lambda: sum(one() is None for one in references) == 10)
    gc.collect()
    assert all(one() is None for one in references)


def test_actors_leave_nothing_behind(actors):
    def rounds(count):
        for _ in range(count):
            address = actors.spawn(Collects(), name="x")
            address.tell_all([{"n": 1}] * 10)
            assert settle(address) == 10
            address.swap(Collects())
            assert settle(address) == 0
            actors.unregister("x")
            inbox = actors.inbox()
            inbox.tell({"n": 1})
            assert inbox.recv() == {"n": 1}
            inbox.tell({"n": 1})
            with pytest.raises(KeyError):
                actors.find("x")
            del address, inbox
        until(lambda: actors.counters().alive == 0)
        gc.collect()

    rounds(20)
    blocks = sys.getallocatedblocks()
    rounds(200)
    assert sys.getallocatedblocks() - blocks < 200


def test_a_message_has_one_reference(actors):
    held, has_begun, seen = threading.Event(), threading.Event(), []
    # It holds the only worker until the references of the waiting messages are counted.
    holds = actors.spawn(lambda message, context: has_begun.set() or held.wait(PATIENCE))
    holds.tell(None)
    assert has_begun.wait(PATIENCE)
    address = actors.spawn(lambda message, context: seen.append(sys.getrefcount(message)))
    thing = Thing()
    before = sys.getrefcount(thing)
    address.tell_all([thing] * 10)
    assert sys.getrefcount(thing) == before + 10
    held.set()
    until(lambda: len(seen) == 10)
    until(lambda: sys.getrefcount(thing) == before)


# Ends.


def test_actors_shut_down_in_reverse_order_at_the_end(directory):
    ended = []

    class Ends:
        def __init__(self, number):
            self.number = number

        def handle(self, message, context):
            pass

        def shutdown(self):
            ended.append(self.number)

    with horus.Actors("fleet") as actors:
        kept = [actors.spawn(Ends(number)) for number in range(10)]
        assert len(kept) == 10
    assert ended == list(reversed(range(10)))
    actors.close()


def test_a_child_process_does_not_reach_the_actors_of_its_parent(actors):
    address, inbox = actors.spawn(Collects()), actors.inbox()
    inbox.tell(1)
    child = os.fork()
    if child == 0:
        good = 0
        for call in (lambda: address.tell(1), lambda: inbox.tell(1), lambda: address.ask(1)):
            try:
                call()
            except horus.DisconnectedError:
                good += 1
        os._exit(good)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    assert settle(address) == 0 and inbox.recv() == 1


class Ticks:
    """Keeps its actor alive by a timer, which it starts in `init`."""

    def __init__(self, calls):
        self.calls = calls

    def init(self, context):
        self.calls.append("init")
        context.tell_every(0.001, "tick")

    def handle(self, message, context):
        pass

    def shutdown(self):
        self.calls.append("shutdown")


def test_a_name_that_is_taken_leaves_no_actor(actors):
    first = actors.spawn(Collects(), name="motor")
    calls = []
    for spawn in (
        lambda: actors.spawn(Ticks(calls), name="motor"),
        lambda: actors.spawn_with(lambda: Ticks(calls), name="motor"),
        lambda: actors.spawn(Ticks(calls), name="\ud800"),
    ):
        with pytest.raises(ValueError, match="'motor' belongs to another|surrogates"):
            spawn()
    assert calls == [] and actors.counters().alive == 1

    # The name is taken only while `init` runs.
    class Renames(Ticks):
        def init(self, context):
            super().init(context)
            actors.register("arm", first)

    with pytest.raises(ValueError, match="'arm' belongs to another"):
        actors.spawn(Renames(calls), name="arm")
    until(lambda: actors.counters().alive == 1)
    assert calls == ["init", "shutdown"] and settle(actors.find("motor")) == 0


def raises_forked_error(call):
    try:
        call()
    except horus.ForkedError as error:
        return "parent process" in str(error)
    return False


def test_a_child_process_cannot_use_the_group_of_its_parent(actors):
    address = actors.spawn(Collects(), name="known")
    calls = [
        lambda: actors.spawn(Collects()),
        lambda: actors.spawn_with(Collects),
        lambda: actors.inbox(),
        lambda: actors.register("other", address),
        lambda: actors.unregister("known"),
        lambda: actors.find("known"),
        lambda: actors.names(),
    ]
    child = os.fork()
    if child == 0:
        good = sum(map(raises_forked_error, calls))
        with horus.Actors("own") as own:
            good += settle(own.spawn(Collects())) == 0
        os._exit(good)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == len(calls) + 1
    assert actors.find("known") == address


def test_a_child_process_can_leave_the_blocks_of_its_parent(directory):
    calls = []

    class Handler(Collects):
        def shutdown(self):
            calls.append("shutdown")

    scheduler = horus.Scheduler("robot")
    with horus.Actors("fleet") as group, scheduler:
        address = group.spawn(Handler())
        child = os.fork()
        if child == 0:
            good = 0
            try:
                group.close()
                group.close()
                good += 1
                scheduler.__exit__(None, None, None)
                good += 1
                # An exception of the block leaves it as it is.
                with group:
                    raise KeyError("of the child")
            except KeyError as error:
                good += error.args == ("of the child",)
            finally:
                os._exit(good if calls == [] else 100)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        assert settle(address) == 0 and calls == [], "the parent goes on"
    assert calls == ["shutdown"]


ENDS = {
    "a group that was never started": """
scheduler = horus.Scheduler("robot")
actors = scheduler.actors("fleet")
address = actors.spawn(lambda message, context: None)
address.tell_all([Thing() for _ in range(1000)])
""",
    "actors that always have mail": """
actors = horus.Actors("fleet")
def again(message, context):
    context.address().tell(message)
kept = [actors.spawn(again) for _ in range(100)]
for address in kept:
    address.tell_all([Thing() for _ in range(500)])
time.sleep(0.05)
""",
    "a handler that sleeps": """
actors = horus.Actors("fleet")
address = actors.spawn(lambda message, context: time.sleep(3600))
address.tell_all([Thing() for _ in range(1000)])
time.sleep(0.05)
""",
    "a handler that loops": """
actors = horus.Actors("fleet")
def loops(message, context):
    while True:
        pass
address = actors.spawn(loops)
address.tell_all([Thing() for _ in range(1000)])
time.sleep(0.05)
""",
    "a daemon thread that runs the scheduler": """
scheduler = horus.Scheduler("robot")
actors = scheduler.actors("fleet")
address = actors.spawn(lambda message, context: context.address().tell(message))
address.tell_all([Thing() for _ in range(1000)])
threading.Thread(target=scheduler.run, daemon=True).start()
time.sleep(0.05)
""",
    "daemon threads that wait": """
actors = horus.Actors("fleet")
full = actors.spawn(lambda message, context: time.sleep(3600), mailbox=1)
full.tell(0)
inbox, set_ = actors.inbox(), horus.InboxSet()
other = actors.inbox()
set_.add(other)
mail = actors.inbox()
mail.tell_all([Thing() for _ in range(1000)])
for wait in (inbox.__next__, set_.wait, lambda: full.tell(1, timeout=3600), lambda: full.ask(1)):
    def waits(wait=wait):
        try:
            wait()
        except horus.Error:
            pass
    threading.Thread(target=waits, daemon=True).start()
time.sleep(0.05)
""",
    "timers": """
actors = horus.Actors("fleet")
class Ticks:
    def init(self, context):
        for number in range(100):
            context.tell_every(0.001, Thing())
    def handle(self, message, context):
        pass
address = actors.spawn(Ticks())
time.sleep(0.05)
""",
}


@pytest.mark.parametrize("script", ENDS.values(), ids=ENDS.keys())
def test_the_interpreter_ends_with_full_mailboxes(python, script):
    head = "import horus, threading, time\nclass Thing: pass\n"
    assert python(f"{head}{script}\nprint('end', flush=True)") == "end\n"


# The end of a `with` block.


def actors_of_both_kinds(kind):
    """Returns what a `with` block ends, and the actors in it."""
    if kind == "Actors":
        actors = horus.Actors("robot")
        return actors, actors
    scheduler = horus.Scheduler("robot")
    return scheduler, scheduler.actors("robot")


@pytest.mark.parametrize("kind", ["Actors", "Scheduler"])
@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
def test_an_error_of_a_block_does_not_hide_the_end_of_the_program(directory, kind, end):
    ended = threading.Event()

    def ends(message, context):
        ended.set()
        raise end

    of_block = ValueError("of the block")
    block, actors = actors_of_both_kinds(kind)
    with pytest.raises(end) as info, block:
        actors.spawn(ends).tell(1)
        assert ended.wait(PATIENCE)
        raise of_block
    assert info.value.__context__ is of_block


@pytest.mark.parametrize("kind", ["Actors", "Scheduler"])
def test_an_error_of_a_block_is_not_replaced_by_the_failure_of_an_actor(directory, kind):
    failed = threading.Event()

    def fails(message, context):
        failed.set()
        raise ValueError("of the actor")

    of_block = ValueError("of the block")
    block, actors = actors_of_both_kinds(kind)
    with pytest.raises(ValueError, match="of the block"), block:
        actors.spawn(fails, failure_policy="fatal").tell(1)
        assert failed.wait(PATIENCE)
        raise of_block


class Ends:
    """Raises an exception that ends the program, in the call of this name."""

    def __init__(self, call, end):
        self.call, self.end, self.count = call, end, 0

    def make(self):
        self.count += 1
        if self.call == "make" and self.count == 2:
            raise self.end
        return self

    def init(self, context):
        if self.call == "init" and self.count == 2:
            raise self.end

    def handle(self, message, context):
        raise ValueError("the first failure, after which the actor restarts")

    def shutdown(self):
        if self.call == "shutdown":
            raise self.end


@pytest.mark.parametrize("call", ["make", "init", "shutdown"])
@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
def test_an_exception_that_ends_the_program_does_so_in_each_call(directory, call, end):
    scheduler = horus.Scheduler("robot")
    actors, ends = scheduler.actors("fleet"), Ends(call, end)
    address = actors.spawn_with(ends.make, failure_policy=horus.Restart(5, 0.001))
    address.tell(1)
    with pytest.raises(end):
        scheduler.run_for(PATIENCE)
    assert actors.counters().failures == 1
    assert ends.count <= 2


def test_an_exception_that_ends_the_program_in_the_init_of_a_new_handler_ends_the_run(directory):
    class New:
        def init(self, context):
            raise SystemExit

        def handle(self, message, context):
            pass

    scheduler = horus.Scheduler("robot")
    address = scheduler.actors("fleet").spawn(Collects())
    address.swap(New())
    with pytest.raises(SystemExit):
        scheduler.run_for(PATIENCE)


def test_an_exception_that_ends_the_program_in_the_first_init_is_raised_by_spawn(actors):
    ends = Ends("init", SystemExit)
    ends.count = 1
    with pytest.raises(SystemExit):
        actors.spawn_with(ends.make)
    assert settle(actors.spawn(Collects())) == 0
