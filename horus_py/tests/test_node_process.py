"""Schedulers as processes: signals, exit, commands from outside, and forks."""

import signal
import subprocess
import sys

import horus
import pytest
from conftest import PATIENCE, until
from test_node import kinds

CHILD = """
import os, signal, sys, threading, time
import horus

def shutdown():
    print("shutdown", flush=True)

def tick(context):
    if context.tick == 2:
        print("ready", flush=True)

node = horus.Node("count", tick=tick, rate=100, shutdown=shutdown)
"""


def start(script, **options):
    """Starts a script and waits for its first line. `communicate` ends its input."""
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD + script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    assert process.stdout.readline() == "ready\n"
    return process


def end(process):
    """Returns the output, without the warnings of a slow machine, and the exit status."""
    output, errors = process.communicate(timeout=PATIENCE)
    slow = ("missed its deadline", "exceeded its budget", "stuck, a tick", "recovered, the tick")
    lines = [line for line in errors.splitlines() if not any(what in line for what in slow)]
    return output, lines, process.returncode


@pytest.mark.parametrize(
    "script",
    [
        "horus.run(node, name='child')",
        "s = horus.Scheduler('child'); s.add(node); s.run()",
        "s = horus.Scheduler('child', stop_on_signals=True); s.add(node); s.run()",
    ],
)
def test_ctrl_c_shuts_down_in_order_and_is_a_keyboard_interrupt(directory, script):
    script = f"try:\n    {script}\nexcept KeyboardInterrupt:\n    print('interrupted')\n    raise"
    process = start(script)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=PATIENCE)
    assert output == "shutdown\ninterrupted\n"
    assert process.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_shuts_down_in_order(namespace, number):
    process = start("horus.run(node, name='child')")
    process.send_signal(number)
    output, _ = process.communicate(timeout=PATIENCE)
    assert (output, process.returncode) == ("shutdown\n", 128 + number)
    assert horus.NodeEvent.SCHEDULER_STOPPED in kinds(namespace, "child")


def test_a_handler_of_the_program_is_called_after_the_run(directory):
    process = start(
        "signal.signal(signal.SIGINT, lambda *_: print('handled'))\n"
        "print(horus.run(node, name='child').signal)"
    )
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE)
    assert (output, process.returncode) == ("shutdown\nhandled\n2\n", 0)


# A block that ends by an exception, and gets a signal meanwhile.
INTERRUPTED_END = """
def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

class Hooked:
    def handle(self, message, context):
        pass

    def shutdown(self):
        interrupt()

def after_the_hooks(event):
    if event.kind == horus.NodeEvent.SCHEDULER_STOPPED:
        # They defer the handlers of signals.
        while signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            time.sleep(0.001)
        interrupt()

{block}
    print("ready", flush=True)
    raise ValueError("of the program")
"""
IN_A_HOOK = """
scheduler = horus.Scheduler("child")
scheduler.add(horus.Node("hooked", tick=lambda context: None, shutdown=interrupt))
with scheduler:
"""
AFTER_THE_HOOKS = """
with horus.Scheduler("child", on_event=after_the_hooks):
"""
IN_AN_ACTOR = """
with horus.Actors("child") as actors:
    kept = actors.spawn(Hooked())
"""


@pytest.mark.parametrize("block", [IN_A_HOOK, AFTER_THE_HOOKS, IN_AN_ACTOR])
def test_ctrl_c_while_a_block_ends_by_an_exception_keeps_the_traceback(directory, block):
    # WHY several: on a busy machine, the end may not wait until `on_event` has sent the signal.
    for _ in range(10 if block is AFTER_THE_HOOKS else 1):
        process = start(INTERRUPTED_END.format(block=block))
        _, errors = process.communicate(timeout=PATIENCE)
        # Python prints this if a signal interrupts it while it prints an exception.
        if "lost sys.stderr" not in errors:
            break
    assert "lost sys.stderr" not in errors
    assert "ValueError: of the program" in errors
    assert errors.endswith("KeyboardInterrupt\n")
    assert process.returncode == -signal.SIGINT


@pytest.mark.parametrize(
    "script",
    [
        "s = horus.Scheduler('child'); s.add(node); s.start(); sys.stdin.read()",
        "s = horus.Scheduler('child'); s.add(node)\n"
        "threading.Thread(target=s.run, daemon=True).start(); sys.stdin.read()",
    ],
)
def test_the_end_of_the_interpreter_ends_what_runs(directory, script):
    process = start(script)
    assert end(process) == ("shutdown\n", [], 0)


@pytest.mark.parametrize("hang", ["time.sleep(600)", "[0 for _ in iter(int, 1)]"])
def test_a_node_that_hangs_does_not_keep_the_interpreter(directory, hang):
    process = start(
        "has_begun = threading.Event()\n"
        f"hang = lambda context: has_begun.set() or {hang}\n"
        "s = horus.Scheduler('child'); s.add(node)\n"
        "s.add(horus.Node('hang', tick=hang, rate=10)); s.start()\n"
        "has_begun.wait(); sys.stdin.read()"
    )
    output, errors = process.communicate(timeout=PATIENCE)
    assert (output, process.returncode) == ("shutdown\n", 0), errors


RETURNS_DURING_THE_EXIT = """
import os, sys, threading, time
import horus

begin, end = os.pipe()
has_begun = threading.Event()

def hangs(*arguments):
    print("hangs", flush=True)
    has_begun.set()
    {hang}

class Last:
    # Python clears the module after it has begun to end the threads that take the GIL.
    def __del__(self, write=os.write, sleep=time.sleep, end=end):
        write(end, b"x")
        sleep(0.3)

sys.last_of_all = Last()
{script}
"""
IS_RUN_BY_ITS_SCHEDULER = """
s = horus.Scheduler("child")
s.add(horus.Node("hangs", tick=hangs, rate=10))
threading.Thread(target=lambda: has_begun.wait() and s.stop()).start()
s.run(check=False)
"""
IS_RUN_BY_A_DAEMON_THREAD = """
s = horus.Scheduler("child")
s.add(horus.Node("hangs", tick=hangs, rate=10))
threading.Thread(target=s.run, daemon=True).start()
has_begun.wait()
"""
IS_AN_ACTOR = """
try:
    with horus.Actors("child") as actors:
        actors.spawn(hangs).tell(1)
        has_begun.wait()
except horus.NodeFailedError:
    pass
"""


@pytest.mark.parametrize("script", [IS_RUN_BY_ITS_SCHEDULER, IS_RUN_BY_A_DAEMON_THREAD, IS_AN_ACTOR])
@pytest.mark.parametrize(
    "hang",
    [
        "os.read(begin, 1)",
        """while True:
        try:
            while True:
                pass
        except SystemExit:
            pass""",
    ],
    ids=["reads", "computes"],
)
def test_a_call_that_is_left_behind_does_not_abort_the_exit(python, hang, script):
    assert python(RETURNS_DURING_THE_EXIT.format(hang=hang, script=script)) == "hangs\n"


def test_the_black_box_outlives_a_killed_process(namespace):
    process = start("horus.run(node, name='child')")
    assert [info.name for info in horus.schedulers(namespace) if info.is_alive] == ["child"]
    process.kill()
    process.communicate()
    info = next(info for info in horus.schedulers(namespace) if info.name == "child")
    assert (info.is_alive, info.process_id) == (False, process.pid)
    events = horus.black_box("child", namespace)
    started = [event for event in events if event.kind == horus.NodeEvent.STARTED]
    assert [event.node for event in started] == ["count"]
    assert {event.process_id for event in events} == {process.pid}
    assert horus.remove_scheduler_topics("child", namespace)
    assert horus.schedulers(namespace) == []


def test_another_process_is_told_what_to_do(namespace):
    process = start("horus.run(node, name='child')")
    remote = horus.RemoteScheduler("child", namespace)
    until(lambda: [node.name for node in remote.info().nodes] == ["count"])
    remote.pause("count")
    until(lambda: horus.NodeEvent.PAUSED in kinds(namespace, "child"))
    remote.set_rate("count", 50)
    with pytest.raises(horus.CommandError, match="no node 'x'"):
        remote.resume("x")
    remote.stop()
    assert end(process) == ("shutdown\n", [], 0)
    with pytest.raises(horus.CommandError, match="no scheduler 'child' runs"):
        horus.RemoteScheduler("child", namespace)


def test_a_node_is_shown_as_paused_in_an_emergency_stop(namespace):
    process = start("horus.run(node, name='child')")
    remote = horus.RemoteScheduler("child", namespace)
    stop = horus.Publisher("emergency_stop", horus.EmergencyStop, namespace=namespace)
    stop.send(horus.EmergencyStop(engaged=1))
    safe = horus.NodeMetrics.STATE_SAFE

    def shown():
        return [(node.state, node.is_paused) for node in remote.info().nodes]

    until(lambda: shown() == [(safe, 0)])
    remote.pause("count")
    until(lambda: shown() == [(safe, 1)])
    remote.resume("count")
    until(lambda: shown() == [(safe, 0)])
    remote.stop()
    assert end(process)[0] == "shutdown\n"


def test_a_child_has_no_part_in_its_parent_s_scheduler(directory):
    process = start(
        """
s = horus.Scheduler('child'); s.add(node); s.start(); sys.stdin.read()
child = os.fork()
if child == 0:
    try:
        s.finish()
    except horus.ForkedError as error:
        print("forked:", "parent process" in str(error), flush=True)
    own = horus.Scheduler('own')
    own.add(horus.Node('own', tick=lambda context: context.stop(), rate=100))
    print(own.run().node('own').metrics.ticks, flush=True)
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
s.finish()
"""
    )
    assert end(process) == ("forked: True\n1\nshutdown\n", [], 0)


def test_a_child_that_a_tick_forks_ends_in_order(python):
    script = """
import horus, os, time

begun = []
parent = os.getpid()


def forks(context):
    os.fork()


def hangs(context):
    begun.append(True)
    try:
        while True:
            time.sleep(0.001)
    finally:
        print("left", flush=True)


scheduler = horus.Scheduler("forks")
scheduler.add(horus.Node("forks", tick=forks))
scheduler.start()
scheduler.tick_once()
if os.getpid() == parent:
    status = os.wait()[1]
    scheduler.finish()
    print(status)
else:
    # The interpreter has to wait for it at exit, or it runs Python code that no longer exists.
    own = horus.Scheduler("own", on_event=lambda event: None)
    own.add(horus.Node("hangs", tick=hangs, rate=100))
    own.start()
    while not begun:
        time.sleep(0.001)
"""
    assert python(script) == "left\n0\n"


def test_a_child_that_is_forked_while_threads_of_nodes_end_does_not_hang(python):
    python("""
import os
import threading
import horus

for _ in range(20):
    scheduler, ticked = horus.Scheduler("robot"), threading.Barrier(5)

    def tick(context):
        if context.tick == 0:
            ticked.wait()

    for number in range(4):
        scheduler.add(horus.Node(f"node {number}", tick=tick, rate=100))
    scheduler.start()
    ticked.wait()
    scheduler.stop()
    for _ in range(5):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    scheduler.finish()
""")


def test_a_child_that_is_forked_while_nodes_are_dropped_does_not_hang(python):
    python("""
import os
import threading
import time
import horus

def hook(*arguments):
    pass

end = time.monotonic() + 60
for _ in range(200):
    # WHY: a slow machine needs longer.
    if time.monotonic() > end:
        break
    scheduler = horus.Scheduler("robot")
    for number in range(50):
        node = horus.Node(f"node {number}", tick=hook)
        node.init = node.shutdown = node.enter_safe_state = node.is_safe_state = hook
        scheduler.add(node)
    scheduler.start()
    ends = threading.Thread(target=scheduler.finish)
    ends.start()
    while ends.is_alive():
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    ends.join()
""")


def test_a_child_does_not_wait_for_threads_of_its_parent_when_it_exits(python):
    script = """
import horus, os, resource, sys, threading, time

subscriber = horus.Subscriber("empty")


def waits():
    while True:
        subscriber.recv(timeout=0.001)


threading.Thread(target=waits, daemon=True).start()
# This thread keeps the GIL, until the other one waits for it.
sys.setswitchinterval(1000)
end = time.perf_counter() + 0.2
while time.perf_counter() < end:
    pass
child = os.fork()
if child == 0:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    horus._horus._exiting()
    # The number of pauses of this thread.
    print(resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before < 5, flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    assert python(script) == "True\n"
