"""Judges of the results of dermis for the files of a suite; none of them uses code of dermis.

A rejection is correct if the suite expects the file to fail (`EXCUSES`), if a file that it needs is missing, if its
version or a required extension is not defined by the format, or if it contains neither a mesh nor a motion:

- glTF is parsed by `gltf_shape.py`, which also poses it: bounds that differ by more than 1e-3 of the diagonal are wrong.
- USD is opened by OpenUSD if it is installed (`pip install usd-core`); without it, results of USD are not judged.
- FBX files of ufbx have OBJ files of the same name next to them, whose bounds are compared; in other FBX files, the
  nodes of meshes are searched for in the bytes.
"""

import re
import struct
from pathlib import Path

import gltf_shape

try:
    import usd_shape
except ImportError:
    usd_shape = None

# Files that their suites expect to fail, by name, and files whose contents no reader can accept. USD has none here: OpenUSD
# decides. The runner prints how many files each rule excuses.
EXCUSES = [
    ("negative example", re.compile(r"^glTF-Asset-Generator/Output/Negative/")),
    ("fuzzed", re.compile(r"^ufbx/data/(\w+_)?fuzz/")),
    ("named as a failure", re.compile(r"^ufbx/data/synthetic_[^/]*_fail_[^/]*$")),
    ("positions that are not numbers", re.compile(r"^ufbx/data/synthetic_(bad_|cube_)?(inf_)?nan_[^/]*$")),
    ("invalid contents", re.compile(r"^assimp/test/models/(invalid|glTF2/(wrongTypes|SchemaFailures))/")),
    ("indices or counts out of range", re.compile(r"^assimp/test/models/glTF2?/(IndexOutOfRange|IncorrectVertexArrays)/")),
    ("positions that are not numbers", re.compile(r"^assimp/test/models/glTF2/BoxWithInfinites-glTF-Binary/")),
]
TOLERANCE = 1e-3
# Exceptions that the judges raise for contents that violate the format.
INVALID = (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError, struct.error)


class Judges:
    def __init__(self, repository):
        self.repository = Path(repository)

    def verdict(self, path, answer):
        """`read`, `rejected`, `wrong rejection`, `wrong` or `crash`, and the reason."""
        if "crash" in answer:
            return "crash", answer["crash"]
        if "error" in answer:
            error = answer["error"]
            message = "; ".join([error["message"], *error["details"]])
            try:
                expected = self.expected_rejection(path)
            except INVALID as error:
                expected = f"invalid for the judge as well ({type(error).__name__})"
            return ("rejected", f"{expected}: {message}") if expected else ("wrong rejection", message)
        if not answer["objects"]:
            try:
                expected = self.expected_rejection(path)
            except INVALID as error:
                expected = f"invalid for the judge as well ({type(error).__name__})"
            if not expected and path.suffix.lower() in (".abc", ".bvh", ".ply"):
                expected = "not judged"
            return ("read", f"nothing to read: {expected}") if expected else ("wrong", "read without any object")
        difference = self.difference(path, answer)
        return ("wrong", difference) if difference else ("read", "")

    def expected_rejection(self, path):
        """Reason why the file cannot be read; `None` if it can."""
        head = path.read_bytes()[:64]
        if head.startswith(b"version https://git-lfs"):
            return "not in the checkout"
        if not head:
            return "empty file"
        name = path.relative_to(self.repository.parent).as_posix()
        for reason, pattern in EXCUSES:
            if pattern.search(name):
                return f"meant to fail ({reason})"
        suffix = path.suffix.lower()
        if suffix in (".glb", ".gltf"):
            return gltf_shape.rejection(path)
        if suffix == ".fbx":
            return fbx_rejection(path)
        if suffix == ".obj":
            return obj_rejection(path)
        if suffix in (".usd", ".usda", ".usdc", ".usdz") and usd_shape:
            return usd_shape.rejection(path)
        return None

    def difference(self, path, answer):
        suffix = path.suffix.lower()
        try:
            if suffix in (".glb", ".gltf"):
                expected = gltf_shape.bounds(path)
            elif suffix == ".fbx":
                expected = obj_bounds(path)
            elif suffix in (".usd", ".usda", ".usdc", ".usdz") and usd_shape:
                expected = usd_shape.bounds(path)
            else:
                expected = None
        except (gltf_shape.NotJudged, *INVALID):
            expected = None
        if expected is None:
            return None
        found = union([(o["bounds"]["min"], o["bounds"]["max"]) for o in answer["objects"] if o["points"] > 0])
        if found is None:
            return "no points, but the judge finds some"
        size = max(high - low for low, high in zip(*expected)) or max(map(abs, expected[0])) or 1.0
        worst = max(abs(a - b) for mine, theirs in zip(found, expected) for a, b in zip(mine, theirs))
        if worst > TOLERANCE * size:
            text = lambda box: " … ".join("[" + ", ".join(f"{x:.4g}" for x in corner) + "]" for corner in box)
            return f"bounds {text(found)} instead of {text(expected)}"
        return None


def union(boxes):
    """Returns the box around boxes, each given by two corners."""
    if not boxes:
        return None
    lows, highs = zip(*boxes)
    return [min(axis) for axis in zip(*lows)], [max(axis) for axis in zip(*highs)]


def fbx_rejection(path):
    data = path.read_bytes()
    if not (b"Kaydara FBX" in data[:64] or b"FBXHeaderExtension" in data or data.lstrip().startswith(b";")):
        return "not an FBX file"
    has_mesh = re.search(rb"Vertices[:*\x00-\x20]|Vertices.{0,3}[dfilDFI]", data, re.DOTALL) is not None
    return None if has_mesh else "no mesh"


def obj_rejection(path):
    """Reason to reject an OBJ file: no positions, or faces of positions that it does not have."""
    count, text = 0, path.read_text(errors="replace")
    for words in (line.split() for line in text.splitlines()):
        if words[:1] == ["v"]:
            count += 1
        if words[:1] == ["f"] and any(not word.split("/")[0] or not 0 < abs(int(word.split("/")[0])) <= count for word in words[1:]):
            return "a face refers to a position that does not exist"
    return None if count else "no positions"


def obj_bounds(path):
    """Bounds of the OBJ file that the ufbx suite provides for a file; only for files in the stored pose."""
    stem = re.sub(r"_\d{4}_(ascii|binary)$", "", path.stem)
    reference = path.with_name(f"{stem}.obj")
    # References for subdivided surfaces, and references in other axes than those of the file.
    if not reference.is_file() or stem == path.stem or re.search("subsurf|crease|_[yz]_up", stem):
        return None
    points = [line.split()[1:4] for line in reference.read_text(errors="replace").splitlines() if line.startswith("v ")]
    points = [[float(x) for x in point] for point in points]
    return ([min(axis) for axis in zip(*points)], [max(axis) for axis in zip(*points)]) if points else None
