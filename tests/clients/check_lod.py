"""Levels of detail: assets with levels are valid, and three.js plays a level as dermis does."""

from bench import Sequence
from play import in_three, is_valid

FILES = ["rigs/CesiumMan.glb", "rigs/horse-animations.glb"]


def run(bench):
    check(bench, "levels of sample:arm", "sample:arm", "arm")
    for label, path in bench.real_files("levels of", FILES):
        check(bench, label, path, path.stem)


def check(bench, label, source, stem):
    if not bench.wants(label):
        return
    asset = bench.target(f"lod/{stem}.glb")
    bench.run("lod", source, "--ratio", "0.5,0.2", "-o", asset, "--force")
    is_valid(bench, label, asset)
    bench.run("lod", source, "--ratio", "0.5,0.2", "--separate", "-o", asset, "--force")
    level = asset.with_name(f"{stem}_lod2.glb")
    is_valid(bench, f"{label}, level 2", level)
    ours = Sequence(bench.convert(level, f"lod/{stem}_lod2.npz"))
    expected, box = ours.frames * ours.metres_per_unit, ours.box * ours.metres_per_unit
    in_three(bench, f"{label}, level 2", level, expected[:, ours.faces.ravel()], ours.times, box)
