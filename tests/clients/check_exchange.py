"""Alembic in both directions: dermis reads files exported by Blender, and Blender reads them as rewritten by dermis."""

import subprocess
import sys

import numpy as np
from bench import HERE, Failed, Sequence, largest_distance

# Both sides store positions as f32 and multiply them by one or two transforms.
LIMIT = 1e-6
# Paths that Blender gives to the objects of `alembic_blender.py make`.
PATHS = {
    "bending": "/bending/bending",
    "parent": "/parent/parent",
    "child": "/parent/child/child",
    "skinned": "/skinned/skinned",
    "still": "/still/still",
    "twin": "/twin/still",
}


def run(bench):
    if not bench.wants("Blender's Alembic"):
        return
    folder = bench.work / "exchange"
    folder.mkdir(parents=True, exist_ok=True)
    source, truth = folder / "blender.abc", folder / "blender.npz"
    blender("make", source, truth)
    expected = np.load(truth)
    for number, (name, path) in enumerate(PATHS.items()):
        ours = bench.convert(source, f"exchange/{name}.npz", "--mesh", path)
        compare(bench, f"dermis: Blender's Alembic, {name}", ours, expected, number)
    back = bench.convert(source, "exchange/back.abc")
    words = blender("check", back, truth)
    bench.record("Blender: Blender's Alembic → abc, polygons and UVs", True, words.splitlines()[-1])
    # The same coordinates with Z up: Blender, which assumes Y up, must show the scene upright.
    upright = folder / "upright.npz"
    turns = lambda key: key.startswith(("frames_", "normals_"))
    np.savez(upright, **{key: z_up_to_y_up(expected[key]) if turns(key) else expected[key] for key in expected.files})
    words = blender("check", bench.convert(source, "exchange/z_up.abc", "--up", "z"), upright)
    bench.record("Blender: a scene with Z up → abc is upright", True, words.splitlines()[-1])


def z_up_to_y_up(vectors):
    return np.stack([vectors[..., 0], vectors[..., 2], -vectors[..., 1]], axis=-1)


def blender(mode, file, truth):
    command = [sys.executable, HERE / "alembic_blender.py", mode, file, truth]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if run.returncode:
        raise Failed(f"alembic_blender.py {mode}: {run.stderr.strip()[-500:]}")
    return run.stdout.strip()


def compare(bench, name, path, expected, number):
    ours = Sequence(path)
    frames = expected[f"frames_{number}"]
    # Objects without motion are written without frames.
    theirs = frames if len(ours.frames) > 1 else frames[:1]
    bench.within(name, largest_distance(ours.frames, theirs, ours.box), LIMIT)
    with np.load(path) as arrays:
        points = arrays["vertex_points"] if "vertex_points" in arrays else np.arange(len(ours.rest))
        corners = arrays["polygon_corners"]
        same = np.array_equal(arrays["polygon_sizes"], expected[f"sizes_{number}"])
        same = same and np.array_equal(points[corners], expected[f"corners_{number}"])
        bench.record(f"{name}, polygons", same, f"{len(arrays['polygon_sizes'])} polygons")
        if f"uvs_{number}" in expected:
            # In dermis, v points downwards, as in glTF.
            uvs = arrays["vertex_uvs0"][corners] * [1, -1] + [0, 1]
            error = np.abs(uvs - expected[f"uvs_{number}"]).max()
            bench.within(f"{name}, UVs", float(error), LIMIT, "in UV")
