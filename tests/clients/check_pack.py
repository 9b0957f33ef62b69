"""Packed assets are valid, and three.js plays them like dermis and within the stated error."""

import json

import numpy as np
from bench import Sequence, largest_distance
from play import in_three, is_valid

FILES = ["rigs/CesiumMan.glb", "rigs/horse-animations.glb"]


def run(bench):
    check(bench, "packed sample:arm", "sample:arm", "arm")
    skin = bench.target("pack/gallop-skin.glb")
    if bench.wants("packed skin of sample:gallop"):
        bench.run("skin", "sample:gallop", "--bones", "8", "--rank", "2", "-o", skin, "--force")
        check(bench, "packed skin of sample:gallop", skin, "gallop")
    for label, path in bench.real_files("packed", FILES):
        check(bench, label, path, path.stem)


def check(bench, label, source, stem):
    if not bench.wants(label):
        return
    packed = bench.target(f"pack/{stem}.glb")
    command = ["pack", source, "--error", "1", "--keep-order", "-o", packed, "--force", "--format", "json"]
    answer = json.loads(bench.run(*command))
    is_valid(bench, label, packed)
    ours = Sequence(bench.convert(packed, f"pack/{stem}_packed.npz"))
    corners = ours.frames[:, ours.faces.ravel()] * ours.metres_per_unit
    box = ours.box * ours.metres_per_unit
    in_three(bench, label, packed, corners, ours.times, box, smooth=False)
    # The rig, without its example shapes.
    unpacked = bench.convert(source, f"pack/{stem}_unpacked.glb")
    before = Sequence(bench.convert(unpacked, f"pack/{stem}_unpacked.npz"))
    expected = before.frames[:, before.faces.ravel()] * before.metres_per_unit
    stated = answer["max_error_percent"] / 100 * np.linalg.norm(np.ptp(before.rest, axis=0)) / before.box
    bench.within(f"dermis: {label} as unpacked", largest_distance(expected, corners, box), 1.01 * stated + 1e-4)
