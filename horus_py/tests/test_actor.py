"""Actors whose handlers are Python objects: messages, questions, failures, names, timers, ends."""

import asyncio
import threading
import time

import horus
import pytest
from conftest import PATIENCE, until

BURSTS = horus._horus._actor_bursts


class Thing:
    """An object with weak references."""


@pytest.fixture
def actors(directory):
    with horus.Actors("fleet") as actors:
        yield actors


def settle(address):
    """Waits until an actor has handled what was sent to it before."""
    return address.ask("settle", timeout=PATIENCE)


class Collects:
    """Collects its messages; answers a question with their number."""

    def __init__(self):
        self.messages = []

    def handle(self, message, context):
        if message == "settle":
            return len(self.messages)
        self.messages.append(message)


def test_messages_are_handled_in_their_order_and_are_not_copied(actors):
    collects, thing = Collects(), Thing()
    address = actors.spawn(collects)
    for number in range(1000):
        address.tell(number)
    address.tell_all([thing, None])
    assert settle(address) == 1002
    assert collects.messages == [*range(1000), thing, None]
    assert collects.messages[1000] is thing


def test_a_handler_is_a_callable_or_an_object_with_handle(actors):
    seen = []
    address = actors.spawn(lambda message, context: seen.append((message, context.name)), name="f")
    address.tell(1)
    until(lambda: seen == [(1, "f")])
    for wrong in (5, "text", None, object()):
        with pytest.raises(TypeError, match="handler"):
            actors.spawn(wrong)

    async def waits(message, context):
        pass

    with pytest.raises(TypeError, match="asynchronous"):
        actors.spawn(waits)


def test_a_batch_is_a_list(actors):
    lists = []
    held = threading.Event()

    def handle(messages, context):
        assert held.wait(PATIENCE)
        lists.append(messages)

    address = actors.spawn(handle, batch=100, mailbox=2000)
    # WHY two parts: the first message may be alone in its list.
    address.tell(0)
    address.tell_all(range(1, 1001))
    held.set()
    until(lambda: sum(map(len, lists)) == 1001)
    assert [message for messages in lists for message in messages] == list(range(1001))
    assert max(map(len, lists)) == 100
    assert len(lists) < 20
    with pytest.raises(ValueError, match="batch=0"):
        actors.spawn(handle, batch=0)


def test_questions_in_a_batch_are_answered_one_by_one(actors):
    def handle(messages, context):
        for question in messages:
            question.reply(question.message * 2)

    address = actors.spawn(handle, batch=8)

    async def ask():
        return await asyncio.gather(*(address.ask_async(number) for number in range(50)))

    assert asyncio.run(ask()) == [2 * number for number in range(50)]


def test_a_question_is_answered_by_what_the_handler_returns_or_replies(actors):
    kept = []

    def handle(message, context):
        if message == "reply":
            context.reply("replied")
            with pytest.raises(horus.Error, match="answered already"):
                context.reply("again")
        elif message == "later":
            kept.append(context.question())
            assert context.question() is None
        return message

    address = actors.spawn(handle)
    assert address.ask(5, timeout=PATIENCE) == 5
    assert address.ask(None, timeout=PATIENCE) is None
    assert address.ask("reply", timeout=PATIENCE) == "replied"
    with pytest.raises(TimeoutError):
        address.ask("later", timeout=0.02)
    # WHY: on a busy machine, the question is handled after the time is over.
    until(lambda: kept)
    assert kept[0].message == "later" and kept[0].cancelled
    kept.pop().reply("too late")
    later = threading.Thread(target=lambda: until(lambda: kept) or kept[0].reply("late"))
    later.start()
    assert address.ask("later", timeout=PATIENCE) == "late"
    later.join()
    with pytest.raises(horus.Error, match="answered already"):
        kept[0].reply("again")


def test_a_question_without_an_answer_raises(actors):
    def handle(message, context):
        if message == "drop":
            context.question()
        elif message == "raise":
            raise KeyError(message)
        elif message == "ask":
            for call in (address.ask, waits_not):
                with pytest.raises(horus.InHandlerError):
                    call("x")
            return "asked"

    address = actors.spawn(handle, failure_policy="ignore", mailbox=4)
    full = actors.spawn(handle, mailbox=1)

    def waits_not(message):
        # The worker that would make room is this one.
        full.tell(message)
        full.tell(message, timeout=PATIENCE)

    for dropped in ("drop", "raise"):
        with pytest.raises(horus.NoAnswerError):
            address.ask(dropped, timeout=PATIENCE)
    assert address.ask("ask", timeout=PATIENCE) == "asked"
    stopping = actors.spawn(lambda message, context: context.stop() or context.question())
    with pytest.raises(horus.NoAnswerError):
        stopping.ask("stop", timeout=PATIENCE)
    until(lambda: stopping.disconnected)
    with pytest.raises(horus.DisconnectedError):
        stopping.ask("stop", timeout=PATIENCE)
    with pytest.raises(horus.DisconnectedError):
        stopping.tell("stop")
    with pytest.raises(horus.DisconnectedError):
        stopping.tell_all(["stop"])


def test_tasks_ask(actors):
    kept = []

    def handle(message, context):
        if message == "never":
            kept.append(context.question())
        return message + 1

    address = actors.spawn(handle, failure_policy="ignore")

    async def main():
        assert await asyncio.gather(*(address.ask_async(number) for number in range(100))) == list(
            range(1, 101)
        )
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(address.ask_async("never"), 0.02)
        until(lambda: kept)
        assert kept[0].cancelled
        with pytest.raises(horus.NoAnswerError):
            await address.ask_async(None)

    asyncio.run(main())


def test_a_mailbox_may_be_unbounded_or_keep_the_latest(actors):
    held, seen = threading.Event(), []

    def handle(message, context):
        held.wait(PATIENCE)
        seen.append(message)

    unbounded = actors.spawn(handle, mailbox="unbounded")
    unbounded.tell_all(range(50_000))
    held.set()
    until(lambda: len(seen) == 50_000)
    held.clear()
    seen.clear()
    latest = actors.spawn(handle, mailbox="latest")
    for number in range(100):
        latest.tell(number)
    held.set()
    until(lambda: 99 in seen)
    assert len(seen) <= 2
    for wrong in (0, -1, 40_000, "fast", 1.5, [1]):
        with pytest.raises((ValueError, TypeError), match="mailbox="):
            actors.spawn(handle, mailbox=wrong)


def test_names(actors):
    one, two = (actors.spawn(Collects()) for _ in range(2))
    actors.register("arm/left", one)
    with pytest.raises(ValueError, match="arm/left"):
        actors.register("arm/left", two)
    with pytest.raises(ValueError, match="arm/left"):
        actors.spawn(Collects(), name="arm/left")
    three = actors.spawn(Collects(), name="arm/right")
    inbox = actors.inbox("results")
    assert actors.names() == ["arm/left", "arm/right", "results"]
    assert actors.names("arm/") == ["arm/left", "arm/right"]
    found = actors.find("arm/left")
    assert found == one and hash(found) == hash(one) and found != two
    assert (found.name, one.name, three.name) == ("arm/left", None, "arm/right")
    assert actors.find("results") == inbox
    assert actors.unregister("arm/left") and not actors.unregister("arm/left")
    with pytest.raises(KeyError, match="arm/left"):
        actors.find("arm/left")
    assert "arm/right" in repr(three) and "fleet" in repr(actors)


def test_timers(actors):
    seen = []

    class Ticks:
        def init(self, context):
            self.every = context.tell_every(0.001, "tick")
            context.tell_after(0.01, "after")

        def handle(self, message, context):
            seen.append(message)
            if seen.count("tick") == 5:
                self.every.cancel()
                assert self.every.cancelled
                self.every = context.tell_after(60, "never")

    address = actors.spawn(Ticks())
    until(lambda: "after" in seen and seen.count("tick") == 5)
    time.sleep(0.01)
    assert sorted(set(seen)) == ["after", "tick"] and seen.count("tick") == 5
    assert not address.disconnected


def test_an_actor_watches_others(actors):
    downs = []

    class Watches:
        def handle(self, message, context):
            context.watch(message)
            with pytest.raises(TypeError, match="Address"):
                context.watch(5)

        def on_down(self, down, context):
            downs.append((down.id, down.error))

    def fails(message, context):
        raise ValueError("no luck")

    watcher = actors.spawn(Watches())
    stops = actors.spawn(lambda message, context: context.stop())
    failing, inbox = actors.spawn(fails), actors.inbox()
    for other in (stops, failing, inbox):
        watcher.tell(other)
    until(lambda: actors.counters().handled == 3)
    stops.tell(1)
    failing.tell(1)
    inbox.close()
    until(lambda: len(downs) == 3)
    errors = dict(downs)
    assert errors[stops.id] is None and errors[inbox.id] is None
    assert errors[failing.id].startswith("ValueError: no luck (test_actor.py:")


def test_an_actor_that_fails_ends_unless_a_class_makes_it_anew(actors):
    def fails(message, context):
        raise ValueError(message)

    address = actors.spawn(fails)
    address.tell("x")
    until(lambda: address.disconnected)
    made, errors = [], []

    class Counts:
        def __init__(self):
            made.append(self)
            self.count = 0

        def init(self, context):
            self.own = context.address()

        def handle(self, message, context):
            if message == "fail":
                raise ValueError(message)
            self.count += 1
            return self.count

        def on_error(self, error):
            errors.append(str(error))

    policy = horus.Restart(max=3, backoff=0.001)
    for counts in (
        actors.spawn(Counts, failure_policy=policy),
        actors.spawn_with(lambda: Counts(), failure_policy=policy),
    ):
        assert [counts.ask(0, timeout=PATIENCE) for _ in range(3)] == [1, 2, 3]
        counts.tell("fail")
        assert counts.ask(0, timeout=PATIENCE) == 1
    assert (len(made), errors) == (4, ["fail", "fail"])
    ignoring = actors.spawn(fails, failure_policy="ignore")
    ignoring.tell_all("abc")
    until(lambda: actors.counters().failures == 6)
    assert not ignoring.disconnected


def test_a_class_that_cannot_make_its_actor_anew_fails_for_good(actors):
    made = []

    class Once:
        def __init__(self):
            made.append(self)
            if len(made) > 1:
                raise OSError("the device is gone")

        def handle(self, message, context):
            raise ValueError(message)

    address = actors.spawn(Once, failure_policy=horus.Restart(max=2, backoff=0.001))
    address.tell("x")
    until(lambda: address.disconnected)
    assert len(made) == 3


def test_what_init_raises_is_raised_by_spawn(actors):
    class Fails:
        def init(self, context):
            raise OSError("no device")

        def handle(self, message, context):
            pass

    for handler in (Fails(), Fails):
        with pytest.raises(OSError, match="no device"):
            actors.spawn(handler)

    class Broken:
        def __init__(self):
            raise OSError("no memory")

    with pytest.raises(OSError, match="no memory"):
        actors.spawn(Broken)
    assert actors.counters().alive == 0


def test_a_fatal_failure_ends_the_run(directory):
    scheduler = horus.Scheduler("robot")
    actors = scheduler.actors("fleet")

    def fails(message, context):
        raise ValueError("no luck")

    address = actors.spawn(fails, failure_policy="fatal")
    address.tell(1)
    with pytest.raises(horus.NodeFailedError, match="'fleet' failed: ValueError: no luck") as info:
        scheduler.run_for(PATIENCE)
    assert isinstance(info.value.__cause__, ValueError)
    assert info.value.report.failed_node == "fleet"
    assert address.disconnected
    with pytest.raises(horus.DisconnectedError, match="has ended"):
        actors.spawn(fails)
    with pytest.raises(horus.DisconnectedError, match="has ended"):
        actors.inbox()


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
def test_an_exception_that_ends_the_program_ends_the_run(directory, end):
    scheduler = horus.Scheduler("robot")

    def ends(message, context):
        raise end

    address = scheduler.actors("fleet").spawn(ends)
    address.tell(1)
    with pytest.raises(end):
        scheduler.run_for(PATIENCE)


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
def test_an_exception_that_ends_the_program_ends_a_simulation(directory, end):
    scheduler, count = horus.Scheduler("robot"), 0

    def ends(message, context):
        nonlocal count
        count += 1
        raise end

    address = scheduler.actors("fleet").spawn(ends)

    class Source(horus.Node):
        rate = 100.0

        def tick(self, context):
            address.tell(1)

    scheduler.add(Source())
    with pytest.raises(end):
        scheduler.simulate(1.0)
    assert count == 1


def test_a_group_without_threads_needs_a_scheduler_that_is_run(directory):
    with pytest.raises(ValueError, match="threads=0"):
        horus.Actors(threads=0)
    seen = []

    def spawn(scheduler):
        def handle(message, context):
            seen.append(message)
            scheduler.stop()

        address = scheduler.actors("fleet", threads=0).spawn(handle)
        address.tell(len(seen))

    for run in ("run_for", "simulate"):
        scheduler = horus.Scheduler(run)
        spawn(scheduler)
        getattr(scheduler, run)(PATIENCE)
    scheduler = horus.Scheduler("ticks")
    spawn(scheduler)
    with scheduler:
        scheduler.tick_once()
    assert seen == [0, 1, 2]


def test_a_handler_is_swapped_at_its_place_among_the_messages(actors):
    seen = []

    def tagging(tag):
        return lambda message, context: seen.append((tag, message)) or tag

    held = threading.Event()
    address = actors.spawn(lambda message, context: held.wait(PATIENCE), name="x")
    address.tell(0)
    swap = address.swap(tagging("new"))
    address.tell_all(range(20))
    last = address.swap(tagging("last"))
    address.tell(20)
    held.set()
    assert address.ask(0, timeout=PATIENCE) == "last"
    assert seen == [("new", number) for number in range(20)] + [("last", 20), ("last", 0)]
    assert swap.wait(timeout=PATIENCE) == "done"
    assert last.state == "on_trial"

    def fails(message, context):
        raise ValueError(context.name)

    failed = address.swap(fails)
    with pytest.raises(horus.NoAnswerError):
        address.ask(1, timeout=PATIENCE)
    assert failed.wait(timeout=PATIENCE) == "rolled_back"
    assert failed.reason.startswith("ValueError: x")
    assert address.ask(0, timeout=PATIENCE) == "last"


def test_a_context_is_over_with_its_handler(actors):
    kept = []

    def keeps(message, context):
        kept.append(context)
        assert context.address() == address

    address = actors.spawn(keeps)
    other = actors.spawn(lambda message, context: [context is one for one in kept])
    for _ in range(3):
        settle(address)
    for context in kept:
        for use in (context.stop, context.address, context.question, lambda c=context: c.name):
            with pytest.raises(horus.Error, match="the handler is over"):
                use()
    assert settle(other) == [False] * 3


def test_actors_send_to_each_other_and_spawn(actors):
    done = threading.Event()

    class Member:
        def __init__(self, left):
            self.left = left

        def init(self, context):
            self.next = actors.spawn(Member(self.left - 1)) if self.left else None

        def handle(self, message, context):
            if self.next is None:
                done.set()
            else:
                self.next.tell(message)

    first = actors.spawn(Member(50))
    first.tell("x")
    assert done.wait(PATIENCE)
    assert actors.counters().alive == 51


def test_two_threads_run_actors_whose_handlers_release_the_gil(directory):
    with horus.Actors("fleet", threads=2) as actors:
        meeting = threading.Barrier(2)
        both = [actors.spawn(lambda message, context: meeting.wait(PATIENCE)) for _ in range(2)]
        for address in both:
            address.tell("meet")
        until(lambda: actors.counters().handled == 2)
        assert actors.counters().failures == 0


def test_a_worker_takes_the_gil_once_for_many_messages(directory):
    scheduler = horus.Scheduler("robot")
    actors = scheduler.actors("fleet")
    seen = []
    addresses = [actors.spawn(lambda message, context: seen.append(message)) for _ in range(1000)]
    for address in addresses:
        address.tell_all(range(10))
    before = BURSTS()
    with scheduler:
        until(lambda: len(seen) == 10_000)
        bursts = BURSTS() - before
    assert sorted(seen) == sorted(list(range(10)) * 1000)
    assert bursts <= 10_000 / 50


def test_other_threads_run_beside_actors_that_always_have_mail(directory):
    def share():
        """Returns the part of the CPU time of this process that this thread gets for some work."""
        thread, process = time.thread_time(), time.process_time()
        for _ in range(1_000_000):
            pass
        return (time.thread_time() - thread) / (time.process_time() - process)

    def again(message, context):
        context.address().tell(message)

    scheduler = horus.Scheduler("robot")
    actors = scheduler.actors("fleet")
    kept = [actors.spawn(again) for _ in range(100)]
    for address in kept:
        address.tell_all(range(500))
    with scheduler:
        # Two threads take turns, so a half is expected. A thread that gets the GIL only by chance
        # got a hundredth.
        beside = sorted(share() for _ in range(5))[2]
    assert beside > 1 / 20


def test_a_handler_in_c_lets_other_threads_run(directory):
    """It has no bytecode, in which Python would switch threads."""
    scheduler = horus.Scheduler("robot")
    actors = scheduler.actors("fleet")
    # `dict.setdefault(message, context)` is a handler in C.
    store = {}
    address = actors.spawn(store.setdefault, mailbox="unbounded")

    def turns():
        """Returns how often this thread gets the GIL while the worker has mail."""
        end, count = len(store) + 300_000, 0
        address.tell_all(range(len(store), end))
        while len(store) < end:
            count += 1
            time.sleep(0)
        return count

    with scheduler:
        # WHY several: on a busy machine, this thread may get no CPU meanwhile.
        assert any(turns() > 2 for _ in range(10))
