"""Bones that shear: three.js and Blender play our glTF as Σ w T p."""

import numpy as np
from bench import Sequence, largest_distance
from play import LIMIT, in_blender, in_three, is_valid

FRAME_RATE = 24.0
BONES = 6
INFLUENCES = 4


def run(bench):
    for name, pose in [("random", random_pose(8)), ("smooth", smooth_pose(24))]:
        label = f"{name} affine bones"
        if not bench.wants(label):
            continue
        check(bench, name, label, pose)


def check(bench, name, label, pose):
    rig = make_rig(pose)
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
    in_three(bench, label, glb, expected[:, rig["faces"].ravel()], times, box, smooth=name == "smooth")
    in_blender(bench, label, glb, expected, times, FRAME_RATE, box)


def make_rig(pose):
    random = np.random.default_rng(7)
    rest, faces = sphere(16, 12)
    weights = np.zeros((len(rest), BONES))
    for row in weights:
        row[random.choice(BONES, INFLUENCES, replace=False)] = random.dirichlet(np.ones(INFLUENCES))
    return {
        "rest": rest.astype(np.float32),
        "faces": faces,
        "weights": weights.astype(np.float32),
        "bind": np.tile(np.eye(4), (BONES, 1, 1)),
        "pose": pose,
        "parents": np.full(BONES, -1, dtype=np.int32),
        "bone_names": np.array([f"bone_{bone}" for bone in range(BONES)]),
        "fps": np.array(FRAME_RATE),
    }


def skinned(rig):
    points = np.concatenate([rig["rest"].astype(np.float64), np.ones((len(rig["rest"]), 1))], axis=1)
    return np.einsum("nb,sbij,nj->sni", rig["weights"].astype(np.float64), rig["pose"], points)[..., :3]


def random_pose(frames):
    """Any affine transforms, mirrored ones among them, from one frame to the next."""
    random = np.random.default_rng(11)
    pose = np.tile(np.eye(4), (frames, BONES, 1, 1))
    pose[..., :3, :] = random.normal(size=(frames, BONES, 3, 4))
    return pose


def smooth_pose(frames):
    """Sheared, stretched and turned bones that swing smoothly."""
    random = np.random.default_rng(13)
    amplitude = random.normal(size=(BONES, 3, 4)) * 0.4
    phase = random.uniform(0, 2 * np.pi, size=(BONES, 3, 4))
    pose = np.tile(np.eye(4), (frames, BONES, 1, 1))
    angles = 2 * np.pi * np.arange(frames) / frames
    pose[..., :3, :] += amplitude * np.sin(angles[:, None, None, None] + phase)
    return pose


def sphere(around, rings):
    """A closed sphere of triangles: two poles and rings between them."""
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
