"""Writes small body models, posed by the smplx package, for dermis-io's tests of SMPL's layout.

    python tests/clients/smplx_fixtures.py crates/dermis-io/tests/fixtures/smpl

Needs numpy, scipy, torch and smplx. The model is random: 12 points, 4 joints, 3 shapes, all 27 pose shapes. Each file contains
the same model; `posed.npz` contains random shape coefficients, joint angles and translations, and the points that
`smplx.lbs.lbs` computes from them in double precision.
"""

import io
import pickle
import struct
import sys
from pathlib import Path

import numpy as np
import scipy.sparse
import torch
from smplx.lbs import lbs

POINTS, JOINTS, SHAPES, POSES = 12, 4, 3, 5
PARENTS = [-1, 0, 1, 1]


def model(random):
    weights = random.random((POINTS, JOINTS)) ** 3
    regressor = random.random((JOINTS, POINTS)) * (random.random((JOINTS, POINTS)) < 0.5)
    regressor[:, 0] += 0.1
    parents = np.array(PARENTS, dtype=np.int64)
    return {
        "v_template": random.standard_normal((POINTS, 3)),
        "f": np.array([[a, (a + 1) % POINTS, (a + 2) % POINTS] for a in range(POINTS)], dtype=np.uint32),
        "weights": weights / weights.sum(1, keepdims=True),
        "kintree_table": np.stack([parents % 2**32, np.arange(JOINTS)]).astype(np.uint32),
        "J_regressor": regressor / regressor.sum(1, keepdims=True),
        "shapedirs": 0.1 * random.standard_normal((POINTS, 3, SHAPES)),
        "posedirs": 0.1 * random.standard_normal((POINTS, 3, 9 * (JOINTS - 1))),
        "bs_type": "lrotmin",
        "bs_style": "lbs",
    }


def posed(model, random):
    tensor = lambda array: torch.tensor(np.asarray(array), dtype=torch.float64)
    betas = random.standard_normal((POSES, SHAPES))
    # Small rotations, large rotations, and none.
    angles = random.standard_normal((POSES, JOINTS, 3)) * np.array([1e-4, 0.3, 1.0, 2.0, 0.0])[:, None, None]
    translations = random.standard_normal((POSES, 3))
    pose_shapes = model["posedirs"].reshape(POINTS * 3, -1).T
    points, joints = lbs(
        tensor(betas),
        tensor(angles.reshape(POSES, -1)),
        tensor(model["v_template"]),
        tensor(model["shapedirs"]),
        tensor(pose_shapes),
        tensor(model["J_regressor"]),
        torch.tensor(PARENTS),
        tensor(model["weights"]),
    )
    moved = translations[:, None]
    return {
        "betas": betas,
        "angles": angles,
        "translations": translations,
        "points": points.numpy() + moved,
        "joints": joints.numpy() + moved,
    }


class Python2(pickle._Pickler):
    """Writes text and bytes in the manner of Python 2."""

    dispatch = dict(pickle._Pickler.dispatch)

    def save_string(self, value):
        data = value.encode("latin1") if isinstance(value, str) else value
        if self.proto == 0:
            quoted = repr(data)[1:]
            self.write(b"S" + quoted.encode("ascii") + b"\n")
        elif len(data) < 256:
            self.write(b"U" + bytes([len(data)]) + data)
        else:
            self.write(b"T" + struct.pack("<i", len(data)) + data)
        self.memoize(value)

    dispatch[str] = save_string
    dispatch[bytes] = save_string


def dump_python2(value, protocol):
    file = io.BytesIO()
    Python2(file, protocol).dump(value)
    return file.getvalue()


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(7)
    dense = model(random)
    np.savez(folder / "posed.npz", **posed(dense, random))
    np.savez(folder / "body.npz", **{key: value for key, value in dense.items() if not isinstance(value, str)})
    columns = {**dense, "J_regressor": scipy.sparse.csc_matrix(dense["J_regressor"])}
    rows = {**dense, "J_regressor": scipy.sparse.csr_matrix(dense["J_regressor"])}
    fortran = {**rows, "shapedirs": np.asfortranarray(dense["shapedirs"])}
    coordinates = {**dense, "J_regressor": scipy.sparse.coo_matrix(dense["J_regressor"])}
    swapped = {**dense, "weights": dense["weights"].astype(">f8")}
    for protocol, value in [(0, columns), (1, coordinates), (2, columns), (3, rows), (4, swapped), (5, fortran)]:
        (folder / f"protocol_{protocol}.pkl").write_bytes(pickle.dumps(value, protocol))
    for protocol in (0, 2):
        (folder / f"python2_protocol_{protocol}.pkl").write_bytes(dump_python2(columns, protocol))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
