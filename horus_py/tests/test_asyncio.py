"""Asyncio tasks that receive while there are always more messages, or that never get one."""

import asyncio
import gc
import time
import weakref

import horus
import pytest

# The number of messages after which a task that never yields gives up.
MANY = 500
# The time in seconds that a message takes in these tests.
HANDLING = 0.002


class Endless:
    """A source that has a message at all times: each message that is received sends the next."""

    def __init__(self, source, send):
        self.source, self.send = source, send
        self.sent, self.received = 0, []
        self.send_next()

    def send_next(self):
        self.send(self.sent)
        self.sent += 1

    def handle(self, message):
        self.received.append(message)
        self.send_next()
        time.sleep(HANDLING)

    async def follow(self):
        async for message in self.source:
            self.handle(message)
            if len(self.received) == MANY:
                break

    async def receive(self):
        while len(self.received) < MANY:
            self.handle(await self.source.recv_async())


@pytest.fixture(params=["topic", "subscriber", "inbox"])
def endless(request, namespace):
    with horus.Actors("group") as actors:
        if request.param == "inbox":
            inbox = actors.inbox()
            yield Endless(inbox, inbox.tell)
        else:
            topic = horus.Topic("numbers", namespace=namespace)
            subscriber = horus.Subscriber("numbers", namespace=namespace)
            yield Endless(topic if request.param == "topic" else subscriber, topic.send)


METHODS = pytest.mark.parametrize("method", ["follow", "receive"])


@METHODS
def test_other_tasks_run_while_there_are_always_messages(endless, method):
    async def main():
        receiving = asyncio.create_task(getattr(endless, method)())
        await asyncio.sleep(HANDLING)
        seen = len(endless.received)
        receiving.cancel()
        return seen

    assert asyncio.run(main()) < MANY


@METHODS
def test_a_time_limit_ends_a_task_for_which_there_are_always_messages(endless, method):
    async def main():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(getattr(endless, method)(), 10 * HANDLING)
        # A cancelled task has lost no message.
        endless.received.append(await endless.source.recv_async())

    asyncio.run(main())
    assert endless.received == list(range(endless.sent))
    assert len(endless.received) < MANY


def test_a_task_whose_messages_take_no_time_yields_a_thousand_times_a_second_at_most(namespace):
    topic = horus.Topic("numbers", namespace=namespace)
    turns = 0

    def count():
        nonlocal turns
        turns += 1
        asyncio.get_running_loop().call_soon(count)

    async def main():
        count()
        begin = time.monotonic()
        for number in range(2000):
            topic.send(number)
            assert await topic.recv_async() == number
        return turns, time.monotonic() - begin

    turns_of_main, duration = asyncio.run(main())
    assert turns_of_main <= 2 + 1000 * duration


async def wait_in_a_task(end):
    # A loop refers to its tasks only weakly: what wakes the task keeps it alive.
    asyncio.ensure_future(end.recv_async())
    for _ in range(10):
        gc.collect()
        await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == 2


@pytest.mark.parametrize("kind", ["subscriber", "inbox"])
def test_a_loop_that_is_closed_while_a_task_waits_is_freed(kind, namespace):
    with horus.Actors("group") as actors:
        if kind == "inbox":
            end = actors.inbox()
        else:
            end = horus.Subscriber("numbers", namespace=namespace)
        loop = asyncio.new_event_loop()
        loop.run_until_complete(wait_in_a_task(end))
        loop.close()
        loop = weakref.ref(loop)
        gc.collect()
        assert loop() is None
        # The task that was freed no longer waits at this end.
        with pytest.raises(asyncio.TimeoutError):
            asyncio.run(asyncio.wait_for(end.recv_async(), 0.05))
