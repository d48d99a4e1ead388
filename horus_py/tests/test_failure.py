"""Failed runs: the errors for the caller, and the nodes that hang."""

import ctypes
import signal
import subprocess
import sys
import threading
import time
import traceback

import horus
import pytest

# The time limit in seconds of waits that would otherwise hang, on a slow machine.
PATIENCE = 60


@pytest.fixture
def scheduler(namespace):
    return horus.Scheduler("test", namespace)


def divide(context):
    return 1 / (context.tick - context.tick)


def failing(name="bad", **settings):
    return horus.Node(name, tick=divide, **settings)


def run_with(scheduler):
    with scheduler:
        while scheduler.tick_once():
            pass


RUNS = {
    "run": lambda scheduler: scheduler.run(),
    "run_for": lambda scheduler: scheduler.run_for(PATIENCE),
    "simulate": lambda scheduler: scheduler.simulate(1.0),
    "with": run_with,
    "tick_once": lambda scheduler: (scheduler.start(), scheduler.tick_once()),
}


@pytest.mark.parametrize("run", RUNS)
def test_a_node_that_fails_is_an_exception_with_its_traceback_as_the_cause(scheduler, run):
    scheduler.add(failing())
    with pytest.raises(horus.NodeFailedError, match="node 'bad' failed: ZeroDivision") as caught:
        RUNS[run](scheduler)
    error = caught.value
    assert isinstance(error, horus.SchedulerError)
    assert isinstance(error.__cause__, ZeroDivisionError)
    frames = traceback.extract_tb(error.__cause__.__traceback__)
    assert [frame.name for frame in frames] == ["divide"]
    assert error.report is scheduler.report
    assert (error.report.failed_node, error.report.exit_code) == ("bad", 1)


def test_the_place_of_an_exception_of_this_library_is_the_line_of_the_program(scheduler):
    def send_nowhere(context):
        context.node.send("nowhere", horus.CmdVel())

    scheduler.add(horus.Node("bad", tick=send_nowhere))
    report = scheduler.run(check=False)
    first_line = report.error.splitlines()[0]
    assert "(test_failure.py:" in first_line and "in send_nowhere)" in first_line


@pytest.mark.parametrize("priority, error", [(1000, OverflowError), (100, horus.PlanError)])
def test_a_priority_out_of_range_is_named_with_its_range(scheduler, priority, error):
    with pytest.raises(error, match=f"node 'fast'.*priority.*{priority}.*1 to 99"):
        scheduler.add(horus.Node("fast", tick=lambda context: None, rate=100, priority=priority))
        scheduler.run_for(0)


def test_a_report_as_text_has_a_line_for_each_node(scheduler):
    scheduler.add(horus.Node("first", tick=lambda context: context.stop()))
    scheduler.add(horus.Node("second", tick=lambda context: None))
    report = scheduler.run()
    lines = str(report).splitlines()
    assert lines[0].startswith("scheduler 'test' ended: ")
    assert [line.split()[0] for line in lines[1:]] == ["first", "second"]
    assert repr(report) == "<horus.Report of 'test': requested, 2 nodes>"


def test_a_failure_is_raised_once_and_the_end_still_has_the_report(scheduler):
    scheduler.add(failing())
    scheduler.start()
    with pytest.raises(horus.NodeFailedError) as caught:
        try:
            while scheduler.tick_once():
                pass
        finally:
            assert scheduler.finish().failed_node == "bad"
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(horus.SchedulerError, match="its run is over"):
        scheduler.finish()


def test_a_node_that_is_left_behind_has_failed(scheduler):
    begun, released = threading.Event(), threading.Event()

    def tick(context):
        begun.set()
        released.wait(PATIENCE)

    scheduler.add(horus.Node("hangs", tick=tick, rate=100, compute=True))
    scheduler.start()
    assert begun.wait(PATIENCE)
    try:
        with pytest.raises(horus.NodeFailedError, match="'hangs' failed: a tick does not end"):
            scheduler.finish()
    finally:
        released.set()


@pytest.mark.parametrize("settings", [{"rate": 500}, {"rate": 500, "compute": True}])
def test_it_is_one_whoever_runs_the_node(scheduler, settings):
    scheduler.add(failing(**settings))
    with pytest.raises(horus.NodeFailedError) as caught:
        scheduler.run()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_the_cause_is_the_failure_that_ended_the_run(scheduler):
    errors = []

    def tick(context):
        errors.append(ValueError(f"failure {len(errors)}"))
        raise errors[-1]

    scheduler.add(failing("ignored", failure_policy="ignore"))
    policy = horus.Restart(max=2, backoff=0.0001)
    scheduler.add(horus.Node("bad", tick=tick, failure_policy=policy))
    text = "'bad' failed: ValueError: failure 2"
    with pytest.raises(horus.NodeFailedError, match=text) as caught:
        scheduler.run()
    assert caught.value.__cause__ is errors[2]


def test_who_asks_not_to_gets_the_report(namespace, scheduler):
    scheduler.add(failing())
    assert scheduler.run(check=False).failed_node == "bad"
    report = horus.run(failing(), name="other", namespace=namespace, check=False)
    assert report.failed_node == "bad"


def test_another_exception_is_not_replaced(scheduler):
    scheduler.add(failing())
    with pytest.raises(KeyError), scheduler:
        with pytest.raises(horus.NodeFailedError):
            scheduler.tick_once()
        raise KeyError("mine")
    assert scheduler.report.failed_node == "bad"


def test_what_a_failed_tick_held_is_let_go_when_the_node_goes_on(scheduler):
    import gc
    import weakref

    class Held:
        pass

    held = []

    def tick(context):
        if held:
            context.stop()
            return
        one = Held()
        held.append(weakref.ref(one))
        raise ValueError

    scheduler.add(
        horus.Node("skips", tick=tick, failure_policy=horus.Restart(max=9, backoff=0.0001))
    )
    scheduler.run()
    gc.collect()
    assert held[0]() is None


PROGRAM = """
import horus

def tick(context):
    raise ValueError("no battery")

{run}
"""

OBVIOUS = {
    "run": """horus.run(horus.Node("arm", tick=tick, rate=100))""",
    "tick_once": """
scheduler = horus.Scheduler()
scheduler.add(horus.Node("arm", tick=tick))
scheduler.start()
while scheduler.tick_once():
    pass
""",
}

UNFINISHED = """
import threading, time
import horus

begun = threading.Event()

def tick(context):
    begun.set()
    time.sleep(600)

scheduler = horus.Scheduler()
scheduler.add(horus.Node("arm", tick=tick, rate=100, compute=True))
scheduler.start()
begun.wait()
"""


def test_a_failure_that_no_call_has_raised_is_told_at_the_end_of_the_program(directory):
    command = [sys.executable, "-c", UNFINISHED]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert "NodeFailedError: node 'arm' failed: a tick does not end" in done.stderr


@pytest.mark.parametrize("run", OBVIOUS)
def test_the_obvious_program_ends_with_a_status_that_is_not_zero(directory, run):
    command = [sys.executable, "-c", PROGRAM.format(run=OBVIOUS[run])]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 1
    assert "ValueError: no battery" in done.stderr
    assert "The above exception was the direct cause" in done.stderr
    assert "NodeFailedError: node 'arm' failed" in done.stderr


def hanging(hang, **settings):
    """Returns a node that hangs in its second tick until it is released."""

    def tick(context):
        if context.tick == 1:
            hang()

    # WHY without a rate: with a rate, a hung tick ends the run after a second.
    return horus.Node("hangs", tick=tick, watchdog=0.05, **settings)


def test_a_node_that_hangs_reaches_its_safe_state_once_and_meanwhile(scheduler):
    entered, reached = [], threading.Event()

    def enter():
        entered.append(threading.get_ident())
        reached.set()

    def hang():
        assert reached.wait(PATIENCE)
        time.sleep(0.05)
        scheduler.stop()

    scheduler.add(hanging(hang, safe_state=enter))
    scheduler.run()
    assert len(entered) == 1 and entered[0] != threading.get_ident()


def test_a_class_has_it_as_a_method_and_a_busy_loop_does_not_keep_it_back(scheduler):
    reached = threading.Event()

    class Arm(horus.Node):
        def tick(self, context):
            end = time.monotonic() + PATIENCE
            while not reached.is_set() and time.monotonic() < end:
                pass
            context.stop()

        def safe_state(self):
            reached.set()
            raise KeyError("reported to sys.unraisablehook")

    reported = []
    before, sys.unraisablehook = sys.unraisablehook, lambda hook: reported.append(hook.exc_type)
    try:
        scheduler.add(Arm(watchdog=0.05))
        scheduler.run()
        assert reached.is_set()
    finally:
        sys.unraisablehook = before
    assert reported == [KeyError]


def reports_of(namespace, enter):
    """Returns the events of a hung node, in order, up to the event of its safe state."""
    reported, is_reported = [], threading.Event()
    ends = horus.NodeEvent.SAFE_STATE_ENTERED, horus.NodeEvent.FAILED

    def tell(event):
        reported.append((event.kind, event.text))
        if event.kind in ends:
            is_reported.set()

    def hang():
        assert is_reported.wait(PATIENCE)
        scheduler.stop()

    scheduler = horus.Scheduler("test", namespace, on_event=tell)
    scheduler.add(hanging(hang, safe_state=lambda: enter(reported, is_reported)))
    scheduler.run()
    return reported


def test_a_safe_state_is_entered_when_its_call_has_returned(namespace):
    def enter(reported, is_reported):
        # Enough time for an event that is reported too early.
        is_reported.wait(0.5)
        reported.append("returns")

    reported = reports_of(namespace, enter)
    entered = (horus.NodeEvent.SAFE_STATE_ENTERED, "")
    assert reported.count(entered) == 1, reported
    assert reported.index(entered) > reported.index("returns"), reported


def test_a_safe_state_that_raises_is_not_entered(namespace, monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", lambda hook: None)

    def enter(reported, is_reported):
        raise KeyError("no arm")

    reported = reports_of(namespace, enter)
    assert (horus.NodeEvent.FAILED, "safe_state failed: KeyError: 'no arm'") in reported
    assert horus.NodeEvent.SAFE_STATE_ENTERED not in [event[0] for event in reported]


# A tick that never releases the GIL, and a safe state that ends the process.
NO_GIL = """
import ctypes
import horus

libc, held = ctypes.CDLL(None), ctypes.PyDLL(None)
libc.abort.restype = None

def tick(context):
    if context.tick == 1:
        # Until the process has ended.
        held.usleep(600 * 10**6)

horus.run(horus.Node("hangs", tick=tick, rate=100, watchdog=0.05, safe_state=libc.abort))
"""


def test_a_c_function_is_called_without_the_gil(directory):
    done = subprocess.run(
        [sys.executable, "-c", NO_GIL], capture_output=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == -signal.SIGABRT


# A function that needs the GIL, and ends the process at once if it is called without.
PYTHON_API = """
import ctypes, threading
import horus

over = threading.Event()

def tick(context):
    if context.tick == 1:
        assert over.wait(600)
        context.stop()

def tell(event):
    if event.kind == horus.NodeEvent.SAFE_STATE_ENTERED:
        over.set()

enter = ctypes.{library}.PyThreadState_Get
node = horus.Node("hangs", tick=tick, watchdog=0.05, safe_state=enter)
horus.run(node, on_event=tell)
print("over")
"""


@pytest.mark.parametrize("library", ["pythonapi", "PyDLL(None)"])
def test_a_c_function_that_needs_the_gil_is_called_with_it(directory, library):
    command = [sys.executable, "-c", PYTHON_API.format(library=library)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (0, "over\n"), done.stderr


# A slow safe state of a node that hangs forever.
TWO_COMMANDS = """
import time
import horus

def tick(context):
    if context.tick == 1:
        print("ready", flush=True)
        time.sleep(600)

def halt():
    print("first", flush=True)
    time.sleep(0.1)
    print("second", flush=True)

horus.run(horus.Node("hangs", tick=tick, rate=100, watchdog=60.0, safe_state=halt))
"""


def test_a_safe_state_is_not_cut_off_by_the_end_of_the_interpreter(directory):
    process = subprocess.Popen(
        [sys.executable, "-c", TWO_COMMANDS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, errors
    assert "NodeFailedError: node 'hangs' failed: a tick does not end" in errors
    assert output == "first\nsecond\n", errors


def test_a_callback_of_ctypes_that_is_python_is_called_as_python(scheduler):
    reached = threading.Event()
    callback = ctypes.CFUNCTYPE(None)(reached.set)

    def hang():
        assert reached.wait(PATIENCE)
        scheduler.stop()

    scheduler.add(hanging(hang, safe_state=callback))
    scheduler.run()
    assert reached.is_set()


def test_a_safe_state_that_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match="node 'x': safe_state"):
        horus.Node("x", tick=print, safe_state=5)


LEFT_BEHIND = """
import sys, time
import horus

def tick(context):
    if context.tick == 1:
        print("ready", flush=True)
        {hang}

try:
    horus.run(horus.Node("hangs", tick=tick, rate=100))
finally:
    print(time.monotonic(), flush=True)
"""


@pytest.mark.parametrize("hang", ["time.sleep(600)", "while True: pass"])
def test_the_interpreter_does_not_wait_again_for_who_was_left_behind(directory, hang):
    least, end = float("inf"), time.monotonic() + PATIENCE
    # WHY several: on a busy machine, one may be late.
    while time.monotonic() < end:
        process = subprocess.Popen(
            [sys.executable, "-c", LEFT_BEHIND.format(hang=hang)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        over = float(process.stdout.readline())
        output = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1, output
        least = min(least, time.monotonic() - over)
        if least < 0.8:
            return
    pytest.fail(f"the end of the interpreter took {least:.2f} s at best")


END_WITHOUT_THE_GIL = """
import horus

calls, ticks = [], 0

class Arm(horus.Node):
    def tick(self, context):
        global ticks
        ticks += 1
        sum(range(2000))

    def enter_safe_state(self):
        calls.append("safe")

    def shutdown(self):
        calls.append("shutdown")

def fails(context):
    if ticks >= 20:
        raise ValueError("no battery")

scheduler = horus.Scheduler("robot")
# WHY so long: "main" gives up the GIL for moments only, and other tests may take the CPUs then.
scheduler.add(Arm("arm", rate=500, watchdog=60))
scheduler.add(horus.Node("bad", tick=fails, {settings}))
scheduler.add(horus.Node("main", tick=lambda context: None))
scheduler.start()
try:
    while scheduler.tick_once():
        pass
except horus.NodeFailedError as error:
    report = error.report
    assert report.failed_node == "bad", report
assert calls == ["safe", "shutdown"], calls
assert report.node("arm").last_error is None, report
"""


@pytest.mark.parametrize("settings", ["", "rate=50"])
def test_a_tick_that_ends_a_failed_run_does_not_keep_the_gil(python, settings):
    for _ in range(3):
        python(END_WITHOUT_THE_GIL.format(settings=settings))


REFUSED_CALLS = """
import threading
import horus

ticked = threading.Event()
scheduler = horus.Scheduler("robot")
scheduler.add(horus.Node("arm", tick=lambda context: ticked.set(), rate=500))
try:
    scheduler.finish()
except horus.SchedulerError as error:
    assert "does not run: call start" in str(error), error
scheduler.start()
assert ticked.wait(60)
try:
    scheduler.simulate(1.0)
except horus.SchedulerError as error:
    assert "has been started" in str(error), error
ticked.clear()
assert ticked.wait(60)
assert scheduler.finish().reason == "duration_elapsed"
"""


def test_a_call_that_does_not_fit_the_stage_changes_nothing(python):
    python(REFUSED_CALLS)


# The run drops the exception of "bad". Meanwhile "late", which the run has left behind, fails.
LATE_FAILURE = """
import faulthandler, threading
import horus

faulthandler.dump_traceback_later(30, exit=True)
is_dropping, is_recorded = threading.Event(), threading.Event()

class Local:
    def __del__(self):
        is_dropping.set()
        assert is_recorded.wait(60)

def bad(context):
    local = Local()
    raise ValueError("first failure")

class Late(horus.Node):
    def tick(self, context):
        assert is_dropping.wait(60)
        raise ValueError("late failure")

    def on_error(self, error):
        is_recorded.set()

scheduler = horus.Scheduler("robot")
scheduler.add(horus.Node("bad", tick=bad, failure_policy=horus.Restart(5, backoff=60.0)))
scheduler.add(Late("late", compute=True))
scheduler.add(horus.Node("end", tick=lambda context: context.tick < 5 or context.stop()))
scheduler.run(check=False)
assert is_recorded.is_set()
"""


def test_a_node_may_fail_while_the_end_of_the_run_drops_the_other_failures(python):
    python(LATE_FAILURE)


@pytest.mark.parametrize("hook", ["enter_safe_state", "is_safe_state"])
def test_a_node_whose_safe_state_fails_does_not_count_as_safe(namespace, hook, monkeypatch):
    raised, kinds = [], []
    monkeypatch.setattr(sys, "unraisablehook", lambda hook: raised.append(hook.exc_type))
    node = horus.Node("bad", tick=lambda context: 1 / 0)
    setattr(node, hook, lambda: {}["x"])
    tell = {"on_event": lambda event: kinds.append(event.kind)}
    horus.run(node, name="unsafe", namespace=namespace, check=False, **tell)
    assert raised == [KeyError]
    assert horus.NodeEvent.PANICKED in kinds
    assert horus.NodeEvent.SAFE_STATE_ENTERED not in kinds
