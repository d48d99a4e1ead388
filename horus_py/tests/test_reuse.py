"""Nodes that are added to a second scheduler, and nodes that no scheduler takes."""

import horus
import pytest
from conftest import PATIENCE


def test_a_node_of_one_scheduler_is_refused_by_another_until_its_run_is_over(namespace):
    schedulers = [horus.Scheduler(name, namespace) for name in ("first", "second")]
    node = horus.Node("node", tick=lambda context: context.stop(), rate=100, subs="scan")
    schedulers[0].add(node)
    subscriber = node.subscriber("scan")
    for scheduler in schedulers:
        with pytest.raises(horus.PlanError, match="node 'node' is in scheduler 'first' already"):
            scheduler.add(node)
    assert node.subscriber("scan") is subscriber
    schedulers[0].run_for(PATIENCE)
    schedulers[1].add(node)
    schedulers[1].run_for(PATIENCE)
    assert schedulers[1].report.node("node").metrics.ticks == 1


def test_a_replacement_is_refused_while_it_is_in_another_scheduler(namespace):
    schedulers = [horus.Scheduler(name, namespace) for name in ("first", "second")]
    nodes = [horus.Node(name, tick=lambda context: None, rate=100) for name in ("one", "two")]
    for scheduler, node in zip(schedulers, nodes):
        scheduler.add(node)
    with schedulers[0]:
        with pytest.raises(horus.PlanError, match="node 'two' is in scheduler 'second' already"):
            schedulers[0].swap("one", nodes[1])
        del schedulers[1], scheduler
        swap = schedulers[0].swap("one", nodes[1])
        assert swap.wait(timeout=PATIENCE) == "done"
        # The former node may come back.
        assert schedulers[0].swap("one", nodes[0]).wait(timeout=PATIENCE) == "done"


def idle(name, **topics):
    return horus.Node(name, tick=lambda context: None, **topics)


def wrong_topic(scheduler, take, **topics):
    scheduler.add(take(idle("bad", **topics, subs={"x": int})))


def taken_name(scheduler, take, **topics):
    scheduler.add(take(idle("good", **topics)))


def late(scheduler, take, **topics):
    with scheduler:
        scheduler.add(take(idle("late", **topics)))


def no_such_node(scheduler, take, **topics):
    with scheduler:
        scheduler.swap("none", take(idle("next", **topics)))


@pytest.mark.parametrize("fail", [wrong_topic, taken_name, late, no_such_node])
def test_a_node_that_is_not_taken_leaves_no_topics_open(namespace, fail):
    scheduler = horus.Scheduler("test", namespace)
    scheduler.add(horus.Node("good", tick=lambda context: None, rate=100))
    topic = horus.Topic("shared", namespace=namespace)
    kept = []

    def take(node):
        # WHY: its topics would be closed with the node.
        kept.append(node)
        return node

    with pytest.raises((horus.Error, TypeError)):
        fail(scheduler, take, pubs={"scan": horus.CmdVel, "shared": topic})
    with horus.Subscriber("scan", horus.CmdVel, namespace=namespace) as subscriber:
        assert subscriber.publisher_count() == 0
    # A handle that the node was given stays open.
    topic.send(1)
