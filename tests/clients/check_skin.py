"""Fitted skins: clients play them as dermis does, and their measures are the same when they are read back."""

import json
import struct

import numpy as np
from bench import Sequence, largest_distance
from play import LIMIT, in_blender, in_three, is_valid

SKIN = ["--bones", 30, "--rank", 5]
RIGID_SKIN = ["--bones", 12, "--bone-model", "rigid", "--rank", 3]
TWO_CLIPS = {"first": "0:10", "second": "10:24"}
INFLUENCES = 4
SAME_MEASURE = 1e-3
UNIT_SUM = 1e-5
FILES = ["sequences/horse-gallop.npz"]

COMPONENTS = {5121: "u1", 5123: "<u2", 5126: "<f4"}


def run(bench):
    checks = [
        ("skin of sample:gallop", flexible_skin),
        ("two clips on one skin", two_clips),
        ("rigid skin in OpenUSD", rigid_skin_in_openusd),
    ]
    checks = [(label, check) for label, check in checks if bench.wants(label)]
    if checks:
        sample = bench.convert("sample:gallop", "skin/gallop.npz")
        for label, check in checks:
            check(bench, label, sample)
    for label, path in bench.real_files("skin of", FILES):
        flexible_skin(bench, label, path)


def flexible_skin(bench, label, source):
    fit, glb = bench.skin([source], f"skin/{source.stem}.glb", *SKIN)
    # Fitted again, so that the reference for the clients does not depend on the glTF file.
    _, baked = bench.skin([source], f"skin/{source.stem}-baked.npz", *SKIN)
    ours = Sequence(baked)
    is_valid(bench, label, glb)
    weights_are_convex(bench, label, glb)
    measures_the_same(bench, label, [source], glb, fit)
    expected, box = ours.frames * ours.metres_per_unit, ours.box * ours.metres_per_unit
    in_three(bench, label, glb, expected[:, ours.faces.ravel()], ours.times, box)
    points = in_blender(bench, label, glb, expected, ours.times, ours.fps, box)
    if points is not None and points.shape == ours.frames.shape:
        measured = distortion_percent(Sequence(source).frames, points / ours.metres_per_unit)
        stated = fit["distortion_percent"]
        bench.within(f"distortion in Blender: {label}", abs(measured - stated) / stated, SAME_MEASURE, f"of {stated:.3f} %")


def weights_are_convex(bench, label, glb):
    """Reads the weights without dermis: they are non-negative, sum to 1, and form one set of four."""
    document, binary = parts_of(glb)
    for mesh in document["meshes"]:
        for primitive in mesh["primitives"]:
            attributes = primitive["attributes"]
            weights = accessor_rows(document, binary, attributes["WEIGHTS_0"]).astype(np.float64)
            one_set = "WEIGHTS_1" not in attributes and weights.shape[1] == INFLUENCES
            off = float(np.abs(weights.sum(axis=1) - 1).max())
            ok = one_set and weights.min() >= 0 and off <= UNIT_SUM
            words = f"{weights.shape[1]} at most, smallest {weights.min():.1e}, sums off by {off:.1e}"
            bench.record(f"weights: {label}", bool(ok), words)


def parts_of(glb):
    """Returns the JSON and the binary chunk."""
    data = glb.read_bytes()
    length = struct.unpack_from("<I", data, 12)[0]
    return json.loads(data[20 : 20 + length]), data[28 + length :]


def accessor_rows(document, binary, index):
    """The rows of a tightly packed four-vector accessor."""
    accessor = document["accessors"][index]
    view = document["bufferViews"][accessor["bufferView"]]
    kind = np.dtype(COMPONENTS[accessor["componentType"]])
    start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    stride = view.get("byteStride", INFLUENCES * kind.itemsize)
    rows = np.ndarray((accessor["count"], INFLUENCES), kind, binary, start, (stride, kind.itemsize))
    return rows / np.iinfo(kind).max if accessor.get("normalized") else rows


def measures_the_same(bench, label, sources, asset, fit):
    again, _ = bench.skin(sources, None, "--from", asset)
    stated, read = fit["distortion_percent"], again["distortion_percent"]
    bench.within(f"measured again: {label}", abs(read - stated) / stated, SAME_MEASURE, f"of {stated:.3f} %")


def distortion_percent(frames, shown):
    """Returns 100 ‖P − P̃‖ / ‖P − P̄‖ with the mean P̄ of each point over time (Kavan et al. 2010)."""
    frames = frames.astype(np.float64)
    return 100 * np.linalg.norm(frames - shown) / np.linalg.norm(frames - frames.mean(axis=0))


def two_clips(bench, label, sample):
    inputs = [
        bench.convert(sample, f"skin/{name}.npz", "--frames", frames) for name, frames in TWO_CLIPS.items()
    ]
    fit, glb = bench.skin(inputs, "skin/two.glb", "--bones", 12)
    is_valid(bench, label, glb)
    measures_the_same(bench, label, inputs, glb, fit)
    animations = [animation["name"] for animation in parts_of(glb)[0]["animations"]]
    bench.record(f"animations: {label}", animations == list(TWO_CLIPS), str(animations))
    for clip, name in enumerate(animations):
        ours = Sequence(bench.convert(glb, f"skin/two-{clip}.npz", "--clip", name))
        scale = ours.metres_per_unit
        in_three(bench, f"{name} of {label}", glb, ours.corners * scale, ours.times, ours.box * scale, clip)


def rigid_skin_in_openusd(bench, label, sample):
    fit, usda = bench.skin([sample], "skin/rigid.usda", *RIGID_SKIN)
    _, baked = bench.skin([sample], "skin/rigid-baked.npz", *RIGID_SKIN)
    ours = Sequence(baked)
    measures_the_same(bench, label, [sample], usda, fit)
    job = {"file": usda, "seconds": ours.times, "out": usda.with_suffix(".usd.npz")}
    answer = bench.openusd([job])[0]
    if "error" in answer:
        bench.record(label, False, answer["error"])
        return
    complaints = answer["complaints"]
    bench.record(f"validators: {label}", not complaints, "; ".join(complaints[:3]) or "clean")
    bench.within(label, largest_distance(ours.frames, np.load(job["out"])["points"], ours.box), LIMIT)
