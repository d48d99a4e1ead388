"""The name of this machine's CPU, for records."""

import pathlib
import platform


def cpu_name(cpuinfo=None):
    """Returns the name of the CPU, on x86 with its family and model.

    The name alone is not enough: virtual machines with different CPUs say the same one.
    """
    if cpuinfo is None:
        cpuinfo = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    found = {}
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        found.setdefault(key.strip(), value.strip())
    name = found.get("model name") or platform.machine()
    if "cpu family" not in found or "model" not in found:
        return name
    return f"{name} (family {found['cpu family']}, model {found['model']})"
