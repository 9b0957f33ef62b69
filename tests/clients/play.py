"""Comparison of a glTF file, as played by clients, with its expected positions; errors are fractions of `box`."""

import numpy as np
from bench import largest_distance

LIMIT = 1e-4
BETWEEN_LIMIT = 1e-3


def is_valid(bench, label, glb):
    verdict = bench.validator([glb])[0]
    bench.record(f"validator: {label}", verdict.get("errors") == verdict.get("warnings") == 0, str(verdict))


def in_three(bench, label, glb, keys, times, box, clip=0, smooth=True):
    """Compares the corners at the keys and, if the motion is smooth, halfway between them."""
    halves = np.interp(np.arange(2 * len(times) - 1) / 2, np.arange(len(times)), times)
    out = glb.with_suffix(f".{clip}.npy")
    answer = bench.three([{"file": glb, "clip": clip, "times": halves.tolist(), "out": out}])[0]
    if "error" in answer:
        bench.record(f"three.js: {label}", False, answer["error"])
        return
    theirs = np.load(out)
    bench.within(f"three.js: {label}", largest_distance(keys, theirs[::2], box), LIMIT)
    if smooth and theirs[::2].shape == keys.shape:
        bench.within(f"three.js: {label} between keys", overshoot(keys, theirs[1::2]) / box, BETWEEN_LIMIT)


def overshoot(keys, between):
    """Largest distance by which a point halfway between two keys is farther from them than 1.5 times their distance."""
    before, after = keys[:-1], keys[1:]
    apart = np.linalg.norm(after - before, axis=-1)
    away = np.maximum(np.linalg.norm(between - before, axis=-1), np.linalg.norm(between - after, axis=-1))
    return float((away - 1.5 * apart).max())


def in_blender(bench, label, glb, expected, times, fps, box):
    """Compares the points at the keys; returns the points in Blender, or None."""
    out = glb.with_suffix(".blender.npz")
    answer = bench.blender([{"file": glb, "fps": fps, "seconds": times, "out": out}])[0]
    if "error" in answer:
        bench.record(f"Blender: {label}", False, answer["error"])
        return None
    points = np.load(out)["points"]
    bench.within(f"Blender: {label}", largest_distance(expected, points, box), LIMIT)
    return points
