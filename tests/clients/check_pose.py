"""Multi-weights written according to the format documentation: dermis agrees with NumPy; other viewers play the skin."""

import json
import struct

import numpy as np
from bench import Sequence, largest_distance
from check_skin import parts_of
from play import LIMIT, in_three, is_valid

EXTENSION = "DERMIS_deformers"
# Deviation of the twelve weights from those of the linear skin, relative to the box.
DEVIATION = 0.02
COMPONENTS = {"<u2": 5123, "<u4": 5125, "<f4": 5126}


def run(bench):
    label = "multi-weights on sample:arm"
    if not bench.wants(label):
        return
    base = bench.convert("sample:arm", "pose/base.glb")
    rig = Sequence(bench.convert(base, "pose/base.npz"))
    home, weights = multi_weights(rig)
    model = bench.target("pose/model.glb")
    write_model(base, model, home, weights)
    is_valid(bench, label, model)
    expected = evaluated(rig, home, weights)
    bench.record(f"differs from the skin: {label}", largest_distance(expected, rig.frames, rig.box) > 10 * LIMIT, "")
    plays(bench, f"dermis: {label}", model, expected, rig)
    plays(bench, f"dermis, copied: {label}", bench.convert(model, "pose/copy.glb"), expected, rig)
    scale = rig.metres_per_unit
    in_three(bench, f"the skin below {label}", model, rig.corners * scale, rig.times, rig.box * scale)
    frames = pose(bench, model, "pose/frames.glb")
    is_valid(bench, f"frames of {label}", frames)
    corners = expected[:, rig.faces.ravel()] * scale
    in_three(bench, f"frames of {label}", frames, corners, rig.times, rig.box * scale)


def multi_weights(rig):
    """The rig's linear skin, `w p` and `w`, with random deviations; the home bone has the largest weight."""
    linear = rig.rig["weights"].astype(np.float64)
    rest = np.append(rig.rest, np.ones((len(rig.rest), 1)), axis=1)
    rows = np.repeat((linear[:, :, None] * rest[:, None])[:, :, None], 3, axis=2)
    noise = np.random.default_rng(1).normal(scale=DEVIATION * rig.box, size=rows.shape)
    noise[..., 3] = 0
    rows += noise * (linear > 0)[:, :, None, None]
    return linear.argmax(axis=1), rows


def evaluated(rig, home, weights):
    """Evaluates `H Σ_k w_k ∘ M_k`, `M_k = H⁻¹ T_k`, in every frame."""
    frames = []
    for bones in rig.rig["skin"].astype(np.float64):
        seen = np.einsum("hij,kjl->hkil", np.linalg.inv(bones), bones)[home][:, :, :3]
        points = (weights * seen).sum(axis=(1, 3))
        to_world = bones[home]
        frames.append(np.einsum("nij,nj->ni", to_world[:, :3, :3], points) + to_world[:, :3, 3])
    return np.array(frames)


def write_model(base, model, home, weights):
    """Writes `base` with the weights in the extension of the node of its mesh."""
    document, binary = parts_of(base)
    points, bones = np.nonzero(np.abs(weights).sum(axis=(2, 3)))
    offsets = np.searchsorted(points, np.arange(len(home) + 1))
    arrays = {"home": ("<u2", home), "offsets": ("<u4", offsets), "bones": ("<u2", bones)}
    arrays["weights"] = ("<f4", weights[points, bones].ravel())
    buffers = {}
    for name, (kind, values) in arrays.items():
        binary += bytes(-len(binary) % 4)
        data = values.astype(kind).tobytes()
        document["bufferViews"].append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(data)})
        view = len(document["bufferViews"]) - 1
        accessor = {"bufferView": view, "componentType": COMPONENTS[kind], "count": len(values), "type": "SCALAR"}
        buffers[name] = len(document["accessors"])
        document["accessors"].append(accessor)
        binary += data
    layer = {"type": "multi_weights", "version": 1, "precision": "f32", "buffers": buffers}
    node = next(node for node in document["nodes"] if "mesh" in node)
    node["extensions"] = {EXTENSION: {"deformers": [layer]}}
    document["extensionsUsed"] = [EXTENSION]
    document["buffers"][0]["byteLength"] = len(binary)
    text = json.dumps(document).encode()
    chunks = [(b"JSON", text + b" " * (-len(text) % 4)), (b"BIN\0", binary + bytes(-len(binary) % 4))]
    body = b"".join(struct.pack("<I", len(data)) + kind + data for kind, data in chunks)
    model.write_bytes(b"glTF" + struct.pack("<II", 2, 12 + len(body)) + body)


def pose(bench, model, target):
    target = bench.target(target)
    bench.run("pose", model, "-o", target, "--force")
    return target


def plays(bench, label, model, expected, rig):
    ours = Sequence(pose(bench, model, f"pose/{model.stem}.npz"))
    bench.within(label, largest_distance(expected, ours.frames, rig.box), LIMIT)
