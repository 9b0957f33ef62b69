"""Sequences are unchanged after they are written to a format and read back."""

import numpy as np
from bench import Failed, Sequence

# Formats that store positions as f32 preserve every bit; morph targets store differences from the rest pose, with
# one or two roundings of f32.
LIMIT = 5e-7
EXTENSIONS = ["npz", "glb", "gltf", "abc", "usda", "pc2", "mdd", ".%04d.obj", ".%04d.ply"]


def run(bench):
    for path in sequences(bench):
        for extension in EXTENSIONS:
            name = f"{path.name} → {extension} → npz"
            if not bench.wants(name):
                continue
            try:
                round_trip(bench, name, path, extension)
            except Failed as failure:
                bench.record(name, False, str(failure))


def sequences(bench):
    generated = bench.work / "round_trip/generated.npz"
    generated.parent.mkdir(parents=True, exist_ok=True)
    np.savez(generated, **generate())
    real = sorted((bench.data / "sequences").glob("*.npz"))
    if not real:
        bench.skip("sequences/*.npz", "the files do not exist")
    return [generated, *real]


def generate():
    random = np.random.default_rng(3)
    rest = random.normal(size=(50, 3)).astype(np.float32)
    faces = np.array([random.choice(50, 3, replace=False) for _ in range(80)], dtype=np.int32)
    frames = rest + random.normal(size=(7, 50, 3)).astype(np.float32)
    return {"rest": rest, "faces": faces, "frames": frames, "fps": np.array(30.0)}


def round_trip(bench, name, path, extension):
    before = Sequence(path)
    stem = f"round_trip/{path.stem}{extension.replace('%04d.', '')}"
    there = bench.convert(path, f"{stem}/{path.stem}{extension if extension.startswith('.') else '.' + extension}")
    after = Sequence(bench.convert(there, f"{stem}/back.npz", "--fps", before.fps))
    if not np.array_equal(before.faces, after.faces):
        bench.record(name, False, "the triangles differ")
        return
    if before.frames.shape != after.frames.shape:
        bench.record(name, False, f"{before.frames.shape} became {after.frames.shape}")
        return
    # The rounding of f32 grows with the distance from the origin.
    scale = max(before.box, float(np.abs(before.frames).max()))
    bench.within(name, float(np.abs(before.frames - after.frames).max()) / scale, LIMIT, "of the extent")
