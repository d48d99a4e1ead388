"""Memory that is not there is a `MemoryError`, after which the program goes on."""

import os

SCRIPT = """
import pickle
import resource

import horus

LARGE = 6 << 20


@horus.message
class Sonar:
    echoes: horus.u32
    strengths: horus.Tail[horus.f32, "echoes"]


image = horus.Image(width=LARGE, height=1, encoding="mono8")
pickled = pickle.dumps(image)
sonar = Sonar(strengths=[1, 2])
numbers = memoryview(bytes(2500 << 10)).cast("f")
images = horus.Topic("images", horus.Image)
observer = horus.Subscriber("images", horus.Image, observe=True)
values = horus.Topic("values")
for _ in range(2):
    images.send(image)
    values.send(bytes(LARGE))
# The memory of the topics is mapped, and the buffer for one value is there.
assert observer.recv().nbytes == LARGE and len(values.recv()) == LARGE

unlimited = resource.getrlimit(resource.RLIMIT_AS)
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (3 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, unlimited[1]))
for name, call in {
    "new": lambda: horus.Image(width=LARGE, height=1, encoding="mono8"),
    "copy": image.copy,
    "bytes": lambda: bytes(image),
    "pickle": lambda: pickle.loads(pickled),
    "observer": observer.recv,
    "latest image": observer.latest,
    "latest value": values.latest,
    "longer tail": lambda: setattr(sonar, "strengths", numbers),
}.items():
    try:
        call()
    except MemoryError:
        continue
    raise AssertionError(f"{name}: no MemoryError")
resource.setrlimit(resource.RLIMIT_AS, unlimited)
# The calls that failed have received and changed nothing.
assert (sonar.echoes, sonar.nbytes) == (2, 8)
assert observer.recv().nbytes == LARGE and len(values.recv()) == LARGE
sonar.strengths = numbers
assert sonar.echoes == 625 << 10 and image.copy() == image
print("done")
"""


def test_memory_that_is_not_there_is_an_error(python):
    # WHY: memory that was freed goes back to the system, and so cannot be used again.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": str(1 << 20)}
    assert python(SCRIPT, env=environment) == "done\n"
