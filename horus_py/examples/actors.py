#!/usr/bin/env python3
"""Simulates a warehouse: 1,000 carts are actors, and the program receives their reports.

    .venv/bin/python horus_py/examples/actors.py

A cart drives to the last shelf and back, one step with each message of its timer. At the dock it
sends a report. A cart that breaks down is made anew.
"""

from __future__ import annotations

import argparse
import random
from typing import Any

import horus

# The length of the warehouse in steps, and the share of steps at which a cart breaks down.
LENGTH = 20
BREAKDOWN = 0.0001


class Cart:
    """Drives up and down between the dock, at 0, and the last shelf."""

    def __init__(self, reports: horus.Address) -> None:
        self.place, self.direction, self.reports = 0, 1, reports

    def init(self, context: horus.ActorContext) -> None:
        context.tell_every(0.001, "step")

    def handle(self, message: Any, context: horus.ActorContext) -> int | None:
        if message == "place":
            return self.place
        if random.random() < BREAKDOWN:
            raise RuntimeError("a wheel is off")
        self.place += self.direction
        if self.place in (0, LENGTH):
            self.direction = -self.direction
        if self.place == 0:
            self.reports.tell(context.name)
        return None


def positive(text: str) -> int:
    """Converts an argument to a number of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} where at least 1 is wanted")
    return number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--carts", type=positive, default=1000)
    parser.add_argument(
        "--deliveries", type=positive, default=10_000, help="deliveries until the end"
    )
    asked = parser.parse_args()
    with horus.Actors("warehouse") as actors:
        reports = actors.inbox("reports", mailbox="unbounded")
        policy = horus.Restart(max=100, backoff=0.01)
        for number in range(asked.carts):
            actors.spawn_with(
                lambda: Cart(reports), name=f"cart/{number}", failure_policy=policy
            )
        deliveries: dict[str, int] = {}
        while sum(deliveries.values()) < asked.deliveries:
            for cart in reports.recv_many(timeout=1.0):
                deliveries[cart] = deliveries.get(cart, 0) + 1
        best = max(deliveries, key=lambda cart: deliveries[cart])
        place = actors.find(best).ask("place", timeout=1.0)
        print(f"{best} has delivered {deliveries[best]} times, and is at {place}")
        print(f"{actors.counters().failures} breakdowns")


if __name__ == "__main__":
    main()
