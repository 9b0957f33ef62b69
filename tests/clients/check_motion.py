"""Motions read by dermis agree with those read by independent clients."""

from pathlib import Path

import numpy as np
from bench import Failed, Sequence, largest_distance

LIMIT = 1e-5
# A frame rate that does not coincide with the keys of any file, so that interpolation is also compared.
ODD_RATE = 27.5

GLTF_FILES = [
    "rigs/CesiumMan.glb",
    "rigs/Fox.glb",
    "rigs/RiggedSimple.glb",
    "rigs/horse-animations.glb",
    "formats/Horse.glb",
    "formats/Flamingo.glb",
    "formats/AnimatedMorphSphere.glb",
    "formats/MorphStressTest.glb",
]


def run(bench):
    gltf_in_three(bench)
    alembic_and_fbx_in_blender(bench)
    usd_in_openusd(bench)


def gltf_in_three(bench):
    files = present(bench, GLTF_FILES)
    found = bench.three([{"file": file, "clip": None, "times": [0], "out": bench.work / "rest.npy"} for file in files])
    cases = []
    for file, answer in zip(files, found):
        for number, clip in enumerate(answer.get("clips", [])):
            for options in ([], ["--fps", ODD_RATE]):
                cases.append(gltf_case(bench, file, number, clip, options))
    cases = [case for case in cases if case]
    jobs = [
        {"file": case["file"], "clip": case["clip"], "times": case["ours"].times, "out": case["out"]} for case in cases
    ]
    for case, answer in zip(cases, bench.three(jobs)):
        if "error" in answer:
            bench.record(case["name"], False, answer["error"])
            continue
        ours = case["ours"]
        bench.within(case["name"], largest_distance(ours.corners, np.load(case["out"]), ours.box), LIMIT)


def gltf_case(bench, file, number, clip, options):
    name = f"three.js: {file.name} {clip['name']} {' '.join(map(str, options))}".rstrip()
    if not bench.wants(name):
        return None
    stem = f"motion/{file.stem}-{clip['name']}{'-odd' if options else ''}".replace(" ", "_")
    try:
        ours = Sequence(bench.convert(file, f"{stem}.npz", "--clip", number, *options))
    except Failed as failure:
        bench.record(name, False, str(failure))
        return None
    # The last frame is the last one within the clip; because keys are f32, a frame at the end can be included or not.
    span = (clip["duration"] - ours.start) * ours.fps
    if not span - 1e-3 < len(ours.frames) <= span + 1 + 1e-3:
        bench.record(name, False, f"{len(ours.frames)} frames at {ours.fps:g} Hz, but the clip lasts {span:g} frames")
        return None
    return {"name": name, "file": file, "clip": number, "ours": ours, "out": bench.work / f"{stem}.npy"}


def alembic_and_fbx_in_blender(bench):
    compare_points(bench, "Blender", bench.blender, [
        ("formats/Bone_Anim.abc", None),
        ("formats/Cloth-10frames.abc", "Cloth"),
        ("formats/Bone_All.fbx", None),
    ], lambda ours: {"fps": ours.fps, "seconds": ours.times})


def usd_in_openusd(bench):
    compare_points(bench, "OpenUSD", bench.openusd, [
        ("formats/RiggedFigure.usdz", None),
    ], lambda ours: {"seconds": ours.times})


def compare_points(bench, client, ask, cases, when):
    """Points correspond one to one in these formats; each program triangulates polygons differently."""
    ready = []
    for file, mesh in cases:
        name = f"{client}: {Path(file).name}"
        if not bench.wants(name) or not present(bench, [file]):
            continue
        options = ["--mesh", mesh] if mesh else []
        out = bench.work / f"motion/{Path(file).stem}-{client}.npz"
        try:
            ours = Sequence(bench.convert(bench.file(file), f"motion/{Path(file).stem}.npz", *options))
        except Failed as failure:
            bench.record(name, False, str(failure))
            continue
        ready.append((name, ours, {"file": bench.file(file), "mesh": mesh, "out": out, **when(ours)}))
    for (name, ours, job), answer in zip(ready, ask([job for _, _, job in ready])):
        if "error" in answer:
            bench.record(name, False, answer["error"])
            continue
        theirs = np.load(job["out"])
        # Blender converts the unit of FBX to metres.
        unit = ours.metres_per_unit if job["file"].suffix == ".fbx" else 1.0
        bench.within(name, largest_distance(ours.frames, theirs["points"] / unit, ours.box), LIMIT)
        bench.record(f"{name} triangles", triangles_fit(ours.faces, theirs), f"{len(ours.faces)} triangles")


def triangles_fit(faces, theirs):
    """Returns whether each polygon is triangulated over its own corners, in order, with a consistent winding."""
    sizes, corners = theirs["sizes"], theirs["corners"]
    if len(faces) != int((sizes - 2).sum()):
        return False
    at = triangle = 0
    for size in sizes:
        polygon = set(corners[at : at + size].tolist())
        cut = faces[triangle : triangle + size - 2]
        if set(cut.ravel().tolist()) != polygon:
            return False
        at += size
        triangle += size - 2
    return True


def present(bench, names):
    paths = []
    for name in names:
        path = bench.file(name)
        if path:
            paths.append(path)
        elif bench.wants(name):
            bench.skip(name, "the file does not exist")
    return paths
