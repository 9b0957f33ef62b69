"""Fitted skins: three.js and Blender (glTF) and OpenUSD (UsdSkel) evaluate them as Σ w T (p + Σ c o)."""

import numpy as np
from bench import Sequence, largest_distance
from play import LIMIT, in_blender, in_three, is_valid

FRAME_RATE = 24.0
BONES = 6
INFLUENCES = 4
SHAPES = 2


def run(bench):
    unmoved = np.tile(np.eye(4), (BONES, 1, 1))
    cases = [
        ("random", unmoved, random_pose(8)),
        ("smooth", unmoved, smooth_pose(24)),
        ("rigid", unmoved, rigid_pose(24)),
        ("bound elsewhere", placed_bind(), random_pose(8)),
        ("bound with scale", placed_bind(scales=(0.5, 2.0)), smooth_pose(24)),
    ]
    for name, bind, pose in cases:
        label = f"bones, {name}"
        if bench.wants(label):
            check(bench, name, label, bind, pose)


def check(bench, name, label, bind, pose):
    rig = make_rig(bind, pose)
    source = bench.work / f"flexible/{name}.npz"
    source.parent.mkdir(parents=True, exist_ok=True)
    np.savez(source, **rig)
    expected = skinned(rig)
    box = float(np.linalg.norm(np.ptp(rig["rest"], axis=0)))

    baked = Sequence(bench.convert(source, f"flexible/{name}-baked.npz"))
    glb = bench.convert(source, f"flexible/{name}.glb")
    is_valid(bench, label, glb)
    bench.within(f"dermis: {label}", largest_distance(baked.frames, expected, box), LIMIT)
    times = [frame / FRAME_RATE for frame in range(len(expected))]
    in_three(bench, label, glb, expected[:, rig["faces"].ravel()], times, box, smooth=True)
    in_blender(bench, label, glb, expected, times, FRAME_RATE, box)
    in_openusd(bench, label, bench.convert(source, f"flexible/{name}.usda"), expected, box)


def in_openusd(bench, label, usda, expected, box):
    out = usda.with_suffix(".usd.npz")
    seconds = [frame / FRAME_RATE for frame in range(len(expected))]
    answer = bench.openusd([{"file": usda, "seconds": seconds, "out": out}])[0]
    if "error" in answer:
        bench.record(f"OpenUSD: {label}", False, answer["error"])
        return
    bench.record(f"OpenUSD validators: {label}", not answer["complaints"], str(answer["complaints"]))
    bench.record(f"UsdSkel: {label}", "def SkelAnimation" in usda.read_text(), "bones, not recorded frames")
    bench.within(f"OpenUSD: {label}", largest_distance(expected, np.load(out)["points"], box), LIMIT)


def make_rig(bind, pose):
    random = np.random.default_rng(7)
    rest, faces = sphere(16, 12)
    weights = np.zeros((len(rest), BONES))
    for row in weights:
        row[random.choice(BONES, INFLUENCES, replace=False)] = random.dirichlet(np.ones(INFLUENCES))
    return {
        "rest": rest.astype(np.float32),
        "faces": faces,
        "weights": weights.astype(np.float32),
        "bind": bind,
        # Bones that move their points by `pose`.
        "pose": pose @ bind,
        "parents": np.full(BONES, -1, dtype=np.int32),
        # Corrections of both signs.
        "basis": random.normal(size=(SHAPES, *rest.shape)).astype(np.float32) * 0.05,
        "coefficients": random.uniform(-1, 1, size=(len(pose), SHAPES)).astype(np.float32),
        "bone_names": np.array([f"bone_{bone}" for bone in range(BONES)]),
        "fps": np.array(FRAME_RATE),
    }


def skinned(rig):
    corrected = rig["rest"] + np.einsum("sk,kni->sni", rig["coefficients"], rig["basis"].astype(np.float64))
    points = np.insert(corrected, 3, 1.0, axis=-1)
    moved = rig["pose"] @ np.linalg.inv(rig["bind"])
    return np.einsum("nb,sbij,snj->sni", rig["weights"].astype(np.float64), moved, points)[..., :3]


def placed_bind(scales=(1.0, 1.0)):
    """Rotated bones around the mesh, each scaled by a factor from the range."""
    random = np.random.default_rng(17)
    bind = np.tile(np.eye(4), (BONES, 1, 1))
    turned, _ = np.linalg.qr(random.normal(size=(BONES, 3, 3)))
    turned *= np.linalg.det(turned)[:, None, None] * random.uniform(*scales, size=(BONES, 1, 1))
    bind[:, :3, :3] = turned
    bind[:, :3, 3] = random.normal(size=(BONES, 3))
    return bind


def random_pose(frames):
    """Arbitrary affine transforms in every frame, including reflections."""
    random = np.random.default_rng(11)
    pose = np.tile(np.eye(4), (frames, BONES, 1, 1))
    pose[..., :3, :] = random.normal(size=(frames, BONES, 3, 4))
    return pose


def smooth_pose(frames):
    """Sheared, stretched and rotated bones with smooth motion."""
    random = np.random.default_rng(13)
    amplitude = random.normal(size=(BONES, 3, 4)) * 0.4
    phase = random.uniform(0, 2 * np.pi, size=(BONES, 3, 4))
    pose = np.tile(np.eye(4), (frames, BONES, 1, 1))
    angles = 2 * np.pi * np.arange(frames) / frames
    pose[..., :3, :] += amplitude * np.sin(angles[:, None, None, None] + phase)
    return pose


def rigid_pose(frames):
    """The rotations nearest to the smooth bones."""
    pose = smooth_pose(frames)
    left, _, right = np.linalg.svd(pose[..., :3, :3])
    left[..., 2] *= np.linalg.det(left @ right)[..., None]
    pose[..., :3, :3] = left @ right
    return pose


def sphere(around, rings):
    """Builds a closed sphere of triangles: two poles and rings between them."""
    points = [[0.0, 1.0, 0.0]]
    for ring in range(1, rings):
        polar = np.pi * ring / rings
        for step in range(around):
            turn = 2 * np.pi * step / around
            points.append([np.sin(polar) * np.cos(turn), np.cos(polar), np.sin(polar) * np.sin(turn)])
    points.append([0.0, -1.0, 0.0])
    faces = []
    for step in range(around):
        after = (step + 1) % around
        faces.append([0, 1 + after, 1 + step])
        for ring in range(rings - 2):
            upper, lower = 1 + ring * around, 1 + (ring + 1) * around
            faces += [[upper + step, upper + after, lower + after], [upper + step, lower + after, lower + step]]
        last = 1 + (rings - 2) * around
        faces.append([len(points) - 1, last + step, last + after])
    return np.array(points), np.array(faces, dtype=np.int32)
