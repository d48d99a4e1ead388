"""Inboxes: threads and tasks that receive messages, and sets of many inboxes."""

import asyncio
import sys
import threading
import time

import horus
import pytest
from conftest import PATIENCE


@pytest.fixture
def actors(directory):
    with horus.Actors("fleet") as actors:
        yield actors


@pytest.mark.parametrize(
    ("timeout", "error"), [("1", TypeError), (-1, ValueError), (float("nan"), ValueError)]
)
def test_a_wrong_timeout_is_refused_also_if_nothing_has_to_wait(actors, namespace, timeout, error):
    inbox = actors.inbox()
    inbox.tell_all(range(2))
    topic = horus.Topic("number", namespace=namespace)
    subscriber = horus.Subscriber("number", namespace=namespace)
    topic.send(1)
    for receive in (inbox.recv, inbox.recv_many, topic.recv, subscriber.recv):
        with pytest.raises(error, match="timeout"):
            receive(timeout=timeout)
    typed = horus.Topic("typed", horus.CmdVel, namespace=namespace)
    for send, message in ((inbox.tell, 2), (topic.send, 2), (typed.send, horus.CmdVel())):
        with pytest.raises(error, match="timeout"):
            send(message, timeout=timeout)
    # Nothing was taken out or sent.
    assert inbox.recv_many(timeout=0) == [0, 1]
    assert topic.recv(timeout=0) == subscriber.recv(timeout=0) == 1
    assert inbox.recv() is topic.recv() is typed.recv() is None


def test_messages_are_received_in_their_order(actors):
    inbox = actors.inbox()
    assert inbox.recv() is None and inbox.recv(timeout=0.001) is None
    assert inbox.recv_many() == [] and inbox.recv_many(5, timeout=0.001) == []
    thing = object()
    inbox.tell(thing)
    assert inbox.recv() is thing
    inbox.tell_all(range(10))
    assert inbox.recv(timeout=PATIENCE) == 0
    assert inbox.recv_many(4) == [1, 2, 3, 4]
    assert inbox.recv_many(timeout=PATIENCE) == [5, 6, 7, 8, 9]
    threading.Timer(0.02, lambda: inbox.tell_all("ab")).start()
    assert inbox.recv_many(timeout=PATIENCE) == ["a", "b"]
    assert inbox.waiting == 0


def test_an_inbox_accepts_exactly_its_capacity(actors):
    inbox = actors.inbox(mailbox=100)
    for _ in range(3):
        for number in range(100):
            inbox.tell(number)
        with pytest.raises(horus.FullError):
            inbox.tell(100)
        assert inbox.recv_many() == list(range(100))


def test_actors_send_to_an_inbox_and_it_answers_questions(actors):
    inbox = actors.inbox("results")
    address = actors.spawn(lambda message, context: inbox.tell(message * 2))
    address.tell_all(range(100))
    assert [inbox.recv(timeout=PATIENCE) for _ in range(100)] == list(range(0, 200, 2))
    answers = []
    asking = threading.Thread(target=lambda: answers.append(inbox.ask("why", timeout=PATIENCE)))
    asking.start()
    question = inbox.recv(timeout=PATIENCE)
    assert question.message == "why" and not question.cancelled
    question.reply("so")
    asking.join()
    assert answers == ["so"]
    # An actor must not wait for a message.
    def waits(message, context):
        with pytest.raises(horus.InHandlerError):
            inbox.recv(timeout=PATIENCE)
        return inbox.recv()

    assert actors.spawn(waits).ask("x", timeout=PATIENCE) is None


def test_an_inbox_ends_with_its_group_after_its_mail(directory):
    with horus.Actors("fleet") as actors:
        inbox, other = actors.inbox(), actors.inbox()
        inbox.tell_all(range(3))
        received = []
        reader = threading.Thread(target=lambda: received.extend(other))
        reader.start()
        other.tell_all(range(3))
    assert list(inbox) == [0, 1, 2]
    reader.join(PATIENCE)
    assert received == [0, 1, 2]
    for receive in (inbox.recv, inbox.recv_many, lambda: inbox.recv(timeout=PATIENCE)):
        with pytest.raises(horus.DisconnectedError):
            receive()
    assert inbox.disconnected
    with pytest.raises(horus.DisconnectedError):
        inbox.tell(1)


def test_a_closed_inbox_refuses_mail(actors):
    inbox = actors.inbox()
    inbox.tell_all(range(5))
    assert inbox.recv() == 0
    inbox.close()
    assert inbox.closed and inbox.disconnected
    assert actors.counters().undelivered == 4
    with pytest.raises(horus.DisconnectedError):
        inbox.tell(1)
    with pytest.raises(horus.ClosedError):
        inbox.recv()
    # A thread that waits.
    waiting, reported = actors.inbox(), []

    def receive():
        with pytest.raises(horus.ClosedError):
            waiting.recv(timeout=PATIENCE)
        reported.append("closed")

    thread = threading.Thread(target=receive)
    thread.start()
    with pytest.raises(horus.BusyError):
        # WHY a loop: the thread may not wait yet.
        while thread.is_alive():
            waiting.recv()
    waiting.close()
    thread.join(PATIENCE)
    assert reported == ["closed"]


def test_a_loop_over_an_inbox_ends_when_it_is_closed(actors):
    inbox, received = actors.inbox(), []

    def read():
        for message in inbox:
            received.append(message)
        received.append("end")

    reader = threading.Thread(target=read)
    reader.start()
    inbox.tell_all(range(3))
    while len(received) < 3 and reader.is_alive():
        time.sleep(0.001)
    inbox.close()
    reader.join(PATIENCE)
    assert received == [0, 1, 2, "end"]
    # A loop that begins afterwards.
    assert list(inbox) == []


def test_tasks_receive(actors):
    inbox, other = actors.inbox(), actors.inbox()
    echo = actors.spawn(lambda message, context: inbox.tell(message))

    async def main():
        for number in range(100):
            echo.tell(number)
            assert await inbox.recv_async() == number
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(inbox.recv_async(), 0.01)
        inbox.tell(None)
        assert await inbox.recv_async() is None
        received = []

        async def follow():
            async for message in other:
                received.append(message)

        task = asyncio.create_task(follow())
        await asyncio.sleep(0.01)
        other.tell_all(range(10))
        while len(received) < 10:
            await asyncio.sleep(0.001)
        other.close()
        other_end = asyncio.wait_for(task, PATIENCE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await other_end
        assert received == list(range(10))

    asyncio.run(main())


def test_a_second_task_at_an_inbox_is_refused_and_leaves_the_first_one_waiting(actors):
    inbox = actors.inbox()

    async def main():
        first = asyncio.create_task(inbox.recv_async())
        await asyncio.sleep(0)
        with pytest.raises(horus.BusyError, match="another task waits for the inbox"):
            await asyncio.wait_for(inbox.recv_async(), 0.05)
        inbox.tell(1)
        # WHY no `wait_for`: it would cancel the task, which then looks once more.
        await asyncio.wait([first], timeout=PATIENCE)
        assert first.done() and first.result() == 1
        cancelled = asyncio.create_task(inbox.recv_async())
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.wait([cancelled])
        inbox.tell(2)
        assert await inbox.recv_async() == 2

    asyncio.run(main())


def test_closing_an_inbox_wakes_the_task_that_waits_for_it(actors):
    inbox = actors.inbox()

    async def main():
        task = asyncio.create_task(inbox.recv_async())
        await asyncio.sleep(0)
        inbox.close()
        await asyncio.wait([task], timeout=PATIENCE)
        with pytest.raises(horus.ClosedError):
            task.result()

    asyncio.run(main())


def test_an_async_iteration_ends_with_the_group(directory):
    actors = horus.Actors("fleet")
    inbox = actors.inbox()
    inbox.tell_all(range(3))

    async def main():
        asyncio.get_running_loop().call_later(0.02, actors.close)
        return [message async for message in inbox]

    assert asyncio.run(asyncio.wait_for(main(), PATIENCE)) == [0, 1, 2]


def test_one_thread_receives_from_a_thousand_inboxes(directory):
    """The benchmark does the same with 100,000 inboxes of 100 messages each."""
    inboxes, messages = 1000, 100
    scheduler = horus.Scheduler("robot")
    actors = scheduler.actors("fleet")
    every = [actors.inbox(mailbox=messages) for _ in range(inboxes)]
    waiting, places = horus.InboxSet(), {}
    for place, inbox in enumerate(every):
        waiting.add(inbox)
        places[inbox] = place
    assert len(waiting) == inboxes

    def send():
        for number in range(messages):
            for inbox in every:
                inbox.tell(number)

    sender = threading.Thread(target=send)
    sender.start()
    received = [[] for _ in every]
    left = inboxes * messages
    while left:
        ready = waiting.wait(timeout=PATIENCE)
        assert ready, f"{left} messages never came"
        for inbox in ready:
            mail = inbox.recv_many()
            received[places[inbox]] += mail
            left -= len(mail)
    sender.join()
    assert received == [list(range(messages))] * inboxes
    assert waiting.wait(timeout=0.001) == []


def test_a_set_returns_an_inbox_until_its_mail_was_received(actors):
    one, two = actors.inbox("one"), actors.inbox("two")
    waiting = horus.InboxSet()
    waiting.add(one)
    two.tell_all("ab")
    waiting.add(two)
    with pytest.raises(horus.Error, match="already"):
        waiting.add(one)
    assert waiting.wait(timeout=PATIENCE) == [two]
    assert waiting.wait(timeout=PATIENCE) == [two]
    assert two.recv() == "a"
    with pytest.raises(horus.Error, match="in an InboxSet"):
        one.recv(timeout=0.001)
    assert waiting.wait() == [two] and two.recv_many() == ["b"]
    assert waiting.wait(timeout=0.001) == []
    threading.Timer(0.02, one.tell, ["c"]).start()
    assert waiting.wait() == [one]
    assert waiting.remove(one) and not waiting.remove(one)
    assert one.recv(timeout=PATIENCE) == "c"
    one.tell("d")
    assert one.recv(timeout=PATIENCE) == "d" and waiting.wait(timeout=0.001) == []
    assert len(waiting) == 1
    # The set keeps its inboxes: no other reference is needed.
    address = actors.find("two")
    del two
    address.tell("e")
    (ready,) = waiting.wait(timeout=PATIENCE)
    assert ready.recv() == "e"


def test_a_closed_inbox_leaves_its_set(actors):
    one, two, three = (actors.inbox() for _ in range(3))
    before, waiting = sys.getrefcount(one), horus.InboxSet()
    for inbox in (one, two, three):
        waiting.add(inbox)
    del inbox
    one.tell("a")
    assert waiting.wait() == [one]
    one.close()
    assert one.closed and one.disconnected
    with pytest.raises(horus.DisconnectedError):
        one.tell("b")
    assert len(waiting) == 2 and waiting.wait(timeout=0.001) == []
    assert sys.getrefcount(one) == before
    # While a thread waits for the set.
    ready = []
    thread = threading.Thread(target=lambda: ready.extend(waiting.wait(timeout=PATIENCE)))
    thread.start()
    time.sleep(0.01)
    two.close()
    end = time.monotonic() + PATIENCE
    while not two.disconnected:
        assert time.monotonic() < end, "it was not dropped"
        time.sleep(0.001)
    three.tell("c")
    thread.join(PATIENCE)
    assert ready == [three] and len(waiting) == 1


def test_a_handler_does_not_wait_for_a_set(actors):
    inbox, waiting = actors.inbox(), horus.InboxSet()
    waiting.add(inbox)

    def waits(message, context):
        assert waiting.wait(timeout=0) == []
        for timeout in (None, PATIENCE):
            with pytest.raises(horus.InHandlerError):
                waiting.wait(timeout)
        inbox.tell("a")
        return waiting.wait() == [inbox]

    assert actors.spawn(waits).ask("x", timeout=PATIENCE)


def test_the_inboxes_of_a_dropped_set_stay(directory):
    with horus.Actors("fleet") as actors:
        one, waiting = actors.inbox(), horus.InboxSet()
        waiting.add(one)
        one.tell("a")
        assert waiting.wait() == [one]
        del waiting
        assert one.recv() == "a"
        waiting = horus.InboxSet()
        with pytest.raises(horus.Error, match="already"):
            waiting.add(one)
        one.close()
