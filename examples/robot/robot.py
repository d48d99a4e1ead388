"""The demo as a launch file in Python: `horus launch examples/robot/robot.py`.

It is the same robot as in `robot.json5`. A file in Python can compute what it starts: here the
number of lasers, `LASERS=3 horus launch examples/robot/robot.py`.
"""

import os
import pathlib

HERE = pathlib.Path(__file__).parent
ROBOT = os.environ.get("ROBOT") or HERE.parent.parent / "target/release/robot"


def part(role, *, after=(), publishes=(), subscribes=()):
    """Returns a program of the robot, which is restarted soon when it fails."""
    return {
        "command": [ROBOT, role],
        "after": list(after),
        "ready": {"publishes": list(publishes), "subscribes": list(subscribes)},
        "restart_delay": 0.02,
        "restart_delay_max": 0.1,
    }


def launch():
    """Returns the structure that the launcher starts."""
    lasers = int(os.environ.get("LASERS", "1"))
    names = ["laser"] + [f"laser_{number}" for number in range(2, lasers + 1)]
    seconds = os.environ.get("ROBOT_SECONDS", "6")
    fault = {
        "command": [ROBOT, "fault", "--seconds", seconds],
        "after": ["imu", *names],
        "restart": "never",
        # Kills the IMU half-way. Its end is that of the demo.
        "required": True,
    }
    return {
        "namespace": "robot_demo",
        "private": True,
        "programs": {
            "monitor": part("monitor", subscribes=["imu", "scan", "cmd_vel"]),
            "controller": part(
                "controller",
                after=["monitor"],
                subscribes=["imu", "scan"],
                publishes=["cmd_vel"],
            ),
            "imu": part("imu", after=["controller"], publishes=["imu"]),
            **{name: part("laser", after=["controller"], publishes=["scan"]) for name in names},
            "fault": fault,
        },
    }
