"""Generates small valid files of every format as seeds for the fuzz targets.

    python fuzz/seeds.py DERMIS

DERMIS is the path of the dermis binary. The script runs in the environment that `tests/clients/check` creates: FBX, binary
USD and Draco files are written by Blender and OpenUSD.
"""

import base64
import json
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

CORPUS = Path(__file__).parent / "corpus"
# Maximum size of an input of the targets.
MAX_BYTES = 65536
# The target for each file extension.
TARGETS = {
    "abc": "alembic",
    "fbx": "fbx",
    "glb": "gltf",
    "gltf": "gltf",
    "mdd": "mdd",
    "mesh": "medit",
    "msh": "gmsh",
    "npz": "npz",
    "obj": "obj",
    "pc2": "pc2",
    "pkl": "pickle",
    "ply": "ply",
    "usda": "usd",
    "usdc": "usd",
    "usdz": "usd",
}

CUBE_OBJ = """o cube
{points}
vt 0 0
vt 1 0
vt 1 1
vt 0 1
vn 0 0 1
usemtl red
f 1/1/1 2/2/1 4/3/1 3/4/1
f 5/1 7/2 8/3 6/4
f 1/1 5/2 6/3 2/4
usemtl blue
f 3//1 4//1 8//1 7//1
f 1 3 7 5
f 2 6 8
f -7 -1 -5
"""

TET_MESH = """MeshVersionFormatted 1
Dimension 3
Vertices
4
0 0 0 0
1 0 0 0
0 1 0 0
0 0 1 0
Triangles
1
1 2 3 0
Tetrahedra
1
1 2 3 4 0
End
"""


def main():
    dermis = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        write_sources(folder)
        for source in [*sorted(folder.glob("*.npz")), folder / "tet.mesh"]:
            for extension in ["glb", "%04d.obj", "%04d.ply", "npz", "pc2", "mdd", "abc", "usda", "msh"]:
                convert(dermis, source, folder / f"{source.stem}_dermis.{extension}")
        write_with_openusd(folder)
        subprocess.run([sys.executable, Path(__file__).parent / "seeds_blender.py", folder], check=True, stdout=sys.stderr)
        for glb in sorted(folder.glob("*.glb")):
            glb.with_suffix(".gltf").write_text(embed(glb.read_bytes()))
        fixtures = Path(__file__).parent.parent / "crates/dermis-io/tests/fixtures/smpl"
        for pickle in sorted(fixtures.glob("*.pkl")):
            shutil.copy(pickle, folder)
        collect(folder)


def write_sources(folder):
    cube = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], dtype=np.float32)
    points = "\n".join(f"v {x} {y} {z}" for x, y, z in cube)
    (folder / "cube.obj").write_text(CUBE_OBJ.format(points=points))
    (folder / "tet.mesh").write_text(TET_MESH)
    faces = np.array([[0, 1, 3], [0, 3, 2], [4, 7, 5], [4, 6, 7], [0, 4, 5], [0, 5, 1]], dtype=np.int32)
    frames = np.stack([cube, cube * 1.5, cube + 1])
    np.savez(folder / "sequence.npz", faces=faces, frames=frames, rest=cube, fps=24.0)
    np.savez_compressed(folder / "packed.npz", faces=faces.astype(np.uint32), frames=frames.astype(np.float64))
    weights = np.repeat([[1, 0], [0.5, 0.5], [0.25, 0.75], [0, 1]], 2, axis=0).astype(np.float32)
    pose = np.tile(np.eye(4), (3, 2, 1, 1))
    pose[1, 1, :3, :3] = [[1, 0.5, 0], [0, 1, 0], [0.2, 0, 2]]
    pose[2, 1, :3, 3] = [0, 1, 0]
    np.savez(
        folder / "rig.npz", rest=cube, faces=faces, weights=weights, bind=np.tile(np.eye(4), (2, 1, 1)), pose=pose,
        parents=np.array([-1, 0], dtype=np.int32), bone_names=np.array(["root", "tip"]), fps=30.0,
    )


def convert(dermis, source, target):
    """Converts a source; rejections are ignored, because not every source can be written to every format."""
    outcome = subprocess.run([dermis, "convert", source, target, "--force"], capture_output=True, text=True)
    if outcome.returncode:
        print(f"{source.name} to {target.name}: {outcome.stderr.strip().splitlines()[:1]}", file=sys.stderr)


def write_with_openusd(folder):
    from pxr import Sdf, Usd, UsdUtils

    for usda in sorted(folder.glob("*.usda")):
        binary = usda.with_suffix(".usdc")
        Usd.Stage.Open(str(usda)).Export(str(binary))
        UsdUtils.CreateNewUsdzPackage(Sdf.AssetPath(str(binary)), str(usda.with_suffix(".usdz")))


def embed(glb):
    """The same asset as a single JSON file with its buffer in a data URI."""
    json_length = struct.unpack_from("<I", glb, 12)[0]
    document = json.loads(glb[20 : 20 + json_length])
    binary = glb[28 + json_length :]
    if document.get("buffers"):
        document["buffers"][0]["uri"] = "data:application/octet-stream;base64," + base64.b64encode(binary).decode()
    return json.dumps(document)


def collect(folder):
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        target = TARGETS.get(file.suffix[1:])
        if target and 0 < file.stat().st_size <= MAX_BYTES:
            (CORPUS / target).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, CORPUS / target / f"seed_{file.name}")


main()
