#!/usr/bin/env python3
"""Finds a ball in the images of a camera, and says where it is on `detections`.

    cargo run --release -p horus_core --example camera      # in one terminal: Rust
    .venv/bin/python horus_py/examples/detector.py          # in another one

The images stay in shared memory, where the camera has drawn them: the network reads them there. It
has two layers, and runs on numpy, or on torch with `--torch` if that is installed.
"""

from __future__ import annotations

import argparse
from typing import Any

import horus
import numpy as np
from numpy.typing import NDArray

# Columns and rows of pixels that the network looks at as one.
CELL = 8
# How sure it has to be.
SCORE_MIN = 0.5

# What training came to: from mean red, green and blue to three features, and from those to one.
HIDDEN = np.array([[4.0, 0.0, 1.0], [-3.0, 2.0, 1.0], [-3.0, 2.0, 1.0]], np.float32)
HIDDEN_BIAS = np.array([0.0, -0.5, -0.3], np.float32)
OUT = np.array([6.0, -3.0, -0.5], np.float32)
OUT_BIAS = np.float32(-3.0)

Heat = NDArray[np.float32]


def heat_by_numpy(image: horus.Image) -> Heat:
    """How sure the network is of each cell that the ball is there."""
    pixels = image.to_numpy()
    rows, columns = pixels.shape[0] // CELL, pixels.shape[1] // CELL
    cells = pixels[: rows * CELL, : columns * CELL].reshape(rows, CELL, columns, CELL, 3)
    means = cells.mean(axis=(1, 3), dtype=np.float32) / 255
    features = np.maximum(means @ HIDDEN + HIDDEN_BIAS, 0)
    heat: Heat = 1 / (1 + np.exp(-(features @ OUT + OUT_BIAS)))
    return heat


def tensor_by_torch(image: horus.Image) -> Any:
    """The pixels as a tensor, where they are. Older versions of torch get a copy."""
    import torch

    try:
        return torch.from_dlpack(image)
    except BufferError:
        # This torch requests DLPack before 1.0, which cannot mark the image as read-only.
        return torch.from_dlpack(image.copy())


def heat_by_torch(image: horus.Image) -> Heat:
    """The same by torch, which also reads the image where it is."""
    import torch

    pixels = tensor_by_torch(image).permute(2, 0, 1).float()
    means = torch.nn.functional.avg_pool2d(pixels, CELL).permute(1, 2, 0) / 255
    features = torch.relu(means @ torch.from_numpy(HIDDEN) + torch.from_numpy(HIDDEN_BIAS))
    heat: Heat = torch.sigmoid(features @ torch.from_numpy(OUT) + float(OUT_BIAS)).numpy()
    return heat


class Detector(horus.Node):
    """Woken by each image; looks at the newest."""

    def __init__(self, heat_of: Any = heat_by_numpy) -> None:
        super().__init__(
            "detector",
            on="camera/rgb",
            subs={"camera/rgb": horus.Image},
            pubs={"detections": horus.Detection},
        )
        self.heat_of = heat_of

    def tick(self, context: horus.Context) -> None:
        image = self.latest("camera/rgb")
        if image is None:
            return
        heat = self.heat_of(image)
        rows, columns = np.nonzero(heat > SCORE_MIN)
        if len(rows) == 0:
            return
        middle = np.array([np.average(columns), np.average(rows)]) * CELL + CELL / 2
        found = horus.Detection(
            timestamp_ns=image.timestamp_ns,
            class_id="ball",
            score=float(heat.max()),
            bbox=horus.BoundingBox2D(
                center=middle,
                size_x=float(np.ptp(columns) + 1) * CELL,
                size_y=float(np.ptp(rows) + 1) * CELL,
            ),
        )
        self.send("detections", found)
        if context.tick % 30 == 0:
            print(f"ball at {middle[0]:.0f}, {middle[1]:.0f}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--torch", action="store_true", help="use torch instead of numpy")
    asked = parser.parse_args()
    report = horus.run(Detector(heat_by_torch if asked.torch else heat_by_numpy), name="detector")
    return report.exit_code


if __name__ == "__main__":
    raise SystemExit(main())
