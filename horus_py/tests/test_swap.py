"""Swaps of nodes that topics wake."""


import horus
import pytest
from conftest import PATIENCE, until


class Listener(horus.Node):
    """Adds what it receives to a list, or fails."""

    def __init__(self, name, seen, scan=None, fails=False):
        super().__init__(name, subs={"scan": scan}, on="scan")
        self.seen = seen
        self.fails = fails

    def tick(self, context):
        if self.fails:
            raise ValueError("worse")
        message = self.recv("scan")
        if message is not None:
            self.seen.append((self.name, message["number"]))


def test_a_node_that_topics_wake_is_swapped_with_its_subscribers(namespace):
    seen = []
    scheduler = horus.Scheduler("test", namespace)
    old = scheduler.add(Listener("old", seen))
    sent = 0

    def send(count):
        nonlocal sent
        for _ in range(count):
            publisher.send({"number": sent})
            sent += 1
            until(lambda: len(seen) == sent)

    with horus.Publisher("scan", namespace=namespace) as publisher, scheduler:
        send(5)
        with pytest.raises(horus.CommandError, match="old.subscriber"):
            scheduler.swap("old", Listener("other", seen))
        new = Listener("new", seen, old.subscriber("scan"))
        swap = scheduler.swap("old", new)
        send(20)
        assert swap.wait(timeout=PATIENCE) == "done"
        # The old node is not needed any more.
        del old
        bad = Listener("bad", seen, new.subscriber("scan"), fails=True)
        swap = scheduler.swap("old", bad)
        publisher.send({"number": sent})
        sent += 1
        assert swap.wait(timeout=PATIENCE) == "rolled_back"
        assert "ValueError: worse" in swap.reason
        # The failed tick has received nothing.
        until(lambda: len(seen) == sent)
        send(5)
    assert [number for _, number in seen] == list(range(sent))
    names = [name for name, _ in seen]
    assert set(names[:5]) == {"old"} and names[-1] == "new" and names.count("new") >= 10


def test_a_node_that_other_topics_wake_is_refused(namespace):
    scheduler = horus.Scheduler("test", namespace)
    topics = {"scan": None, "imu": None}
    idle = horus.Node("idle", tick=lambda context: None, subs=topics, on=["scan", "imu"])
    old = scheduler.add(idle)
    with scheduler:
        shared = {topic: old.subscriber(topic) for topic in topics}
        for subs, on in [
            ({"scan": shared["scan"]}, "scan"),
            ({**shared, "imu": None}, ["scan", "imu"]),
            (shared, ()),
        ]:
            wrong = horus.Node("wrong", tick=lambda context: None, subs=subs, on=on)
            with pytest.raises(horus.CommandError, match="topics wake it"):
                scheduler.swap("idle", wrong)
        # In another order.
        right = horus.Node("right", tick=lambda context: None, subs=shared, on=["imu", "scan"])
        assert scheduler.swap("idle", right).state in ("pending", "on_trial")


def test_a_node_is_no_replacement_of_itself(namespace):
    seen = []
    scheduler = horus.Scheduler("test", namespace)
    node = scheduler.add(Listener("node", seen))
    with horus.Publisher("scan", namespace=namespace) as publisher, scheduler:
        with pytest.raises(horus.CommandError, match="topics wake it"):
            scheduler.swap("node", node)
        publisher.send({"number": 0})
        until(lambda: seen == [("node", 0)])


def test_a_refused_swap_leaves_nothing_behind(namespace):
    async def wait(context):
        pass

    seen = []
    scheduler = horus.Scheduler("test", namespace)
    old = scheduler.add(Listener("old", seen))
    with scheduler:
        shared = {"scan": old.subscriber("scan")}
        bad = horus.Node("bad", tick=wait, subs=shared, on="scan")
        # The subscribers are those of the old node, so to share them is no advice.
        with pytest.raises(horus.CommandError, match="a plain tick") as refused:
            scheduler.swap("old", bad)
        assert "old.subscriber" not in str(refused.value)
        new = Listener("new", seen, shared["scan"])
        assert scheduler.swap("old", new).state in ("pending", "on_trial")
