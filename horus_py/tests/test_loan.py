"""Messages on loan whose loan has ended: they no longer show the memory of the publisher."""

import copy
import pickle
import sys
import threading

import horus
import numpy as np
import pytest

# The ends of a loan, with the text about them in an error.
LOAN_ENDS = {
    "published": lambda topic, loan: loan.publish(),
    "discarded": lambda topic, loan: loan.discard(),
    "publisher was closed": lambda topic, loan: topic.close(),
}


@pytest.mark.parametrize("end", LOAN_ENDS)
def test_a_message_whose_loan_has_ended_shows_no_other_message(namespace, end):
    topic = horus.Topic("camera", horus.Image, namespace=namespace, capacity=4)
    other = horus.Topic("other", horus.Image, namespace=namespace)
    loan = topic.loan((4, 4), np.uint8, frame_id="first")
    loan.to_numpy()[:] = 1
    kept = loan.copy()
    LOAN_ENDS[end](topic, loan)
    for number in range(8):
        if not topic.closed:
            topic.send(horus.Image(np.full((4, 4), number, np.uint8)))
    for access in (
        loan.to_numpy,
        loan.copy,
        loan.__dlpack__,
        lambda: loan.__dlpack__(copy=True),
        lambda: copy.deepcopy(loan),
        lambda: np.asarray(loan),
        lambda: bytes(loan),
        lambda: pickle.dumps(loan),
        lambda: loan == kept,
        lambda: kept != loan,
        lambda: other.send(loan),
    ):
        with pytest.raises(ValueError, match=rf"this Image are gone: .*{end}.*a copy\(\) before"):
            access()
    # The header belongs to the message itself.
    assert (loan.frame_id, loan.width, loan.nbytes) == ("first", 4, 16)
    assert (kept.to_numpy() == 1).all() and "with 16 bytes" in repr(loan)
    with pytest.raises(AttributeError, match=r"read-only: make a copy\(\) before"):
        loan.frame_id = "later"


def test_a_loan_that_ends_while_its_array_is_made_gives_none(namespace):
    topic = horus.Topic("clouds", horus.PointCloud, namespace=namespace)
    loan = topic.loan(4, [("x", "f4")])

    def publish(code, event, _argument):
        if code.f_code.co_name == "structure" and loan.writeable:
            loan.publish()
        return publish

    before = sys.gettrace()
    sys.settrace(publish)
    try:
        with pytest.raises(ValueError, match="are gone: it was published"):
            loan.to_numpy()
    finally:
        sys.settrace(before)
    assert not loan.writeable


# Longer than the slots of a new publisher: reserving memory for them takes tens of milliseconds.
LONG = 32 << 20
GROW = {
    "reserve": lambda images, values, image: images.reserve(LONG),
    "send": lambda images, values, image: images.send(image),
    "send a value": lambda images, values, image: values.send(image.to_numpy()),
    "loan": lambda images, values, image: images.loan((1, LONG), np.uint8),
}


@pytest.mark.parametrize("grow", GROW.values(), ids=GROW)
def test_other_threads_run_while_slots_grow(namespace, grow):
    image = horus.Image(np.zeros((1, LONG), np.uint8))
    turns, stop = 0, threading.Event()

    def count():
        nonlocal turns
        # Each sleep requests the GIL once more.
        while not stop.wait(0.001):
            turns += 1

    other = threading.Thread(target=count)
    other.start()
    try:
        # WHY several: on a busy machine the other thread may get no processor meanwhile.
        for attempt in range(10):
            images = horus.Publisher(f"images{attempt}", horus.Image, namespace=namespace)
            values = horus.Publisher(f"values{attempt}", namespace=namespace)
            before = turns
            grow(images, values, image)
            # A few turns may precede and follow the call, also if it keeps the GIL.
            if turns - before > 20:
                return
            images.close()
            values.close()
            horus.sweep(namespace)
    finally:
        stop.set()
        other.join()
    pytest.fail("the other thread did not run")
