"""Bounds of the stored pose of a glTF file, computed without any glTF library.

Node transforms, skins and default morph weights are applied. Compressed files are not judged.
"""

import base64
import json
import struct
from urllib.parse import unquote

FORMATS = {5120: "b", 5121: "B", 5122: "h", 5123: "H", 5125: "I", 5126: "f"}
LIMITS = {5120: 127.0, 5121: 255.0, 5122: 32767.0, 5123: 65535.0}
COUNTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
# Extensions that do not affect shapes.
HARMLESS = ("KHR_materials_", "KHR_texture_", "EXT_texture_", "MSFT_texture_dds", "KHR_lights_", "EXT_lights_", "KHR_xmp")
SHAPE_EXTENSIONS = {
    "KHR_mesh_quantization",
    "EXT_meshopt_compression",
    "KHR_meshopt_compression",
    "KHR_draco_mesh_compression",
    "KHR_node_visibility",
}
IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
MAX_POINTS = 400_000


class NotJudged(Exception):
    """The file uses features that this judge does not implement."""


def load(path):
    data = path.read_bytes()
    if data[:4] != b"glTF":
        return json.loads(data.decode("utf-8-sig")), None
    length = struct.unpack_from("<I", data, 12)[0]
    root = json.loads(data[20 : 20 + length])
    return root, data[20 + length + 8 :]


def rejection(path):
    """Reason why the file cannot be read; `None` if it can."""
    try:
        root, binary = load(path)
    except (ValueError, struct.error, UnicodeDecodeError):
        return "not glTF"
    if not isinstance(root, dict) or not isinstance(root.get("nodes", []), list):
        return "glTF 1.0"
    if not str(root.get("asset", {}).get("version", "")).startswith("2"):
        return "not glTF 2.0"
    for required in root.get("extensionsRequired", []):
        if not required.startswith(HARMLESS) and required not in SHAPE_EXTENSIONS:
            return f"requires {required}"
    for buffer in root.get("buffers", []):
        uri = buffer.get("uri")
        if uri and not uri.startswith("data:") and not (path.parent / unquote(uri)).is_file():
            return "a buffer is not in the checkout"
        if uri and not uri.startswith("data:") and (path.parent / unquote(uri)).stat().st_size < buffer["byteLength"]:
            return "a buffer is truncated"
    primitives = [primitive for mesh in root.get("meshes", []) for primitive in mesh.get("primitives", [])]
    if not any("POSITION" in primitive["attributes"] and primitive.get("mode", 4) >= 4 for primitive in primitives):
        return None if root.get("animations") or root.get("skins") else "no triangles"
    return None


class Reader:
    def __init__(self, path):
        self.root, binary = load(path)
        used = set(self.root.get("extensionsUsed", []))
        if used & (SHAPE_EXTENSIONS - {"KHR_mesh_quantization", "KHR_node_visibility"}):
            raise NotJudged
        self.buffers = []
        for buffer in self.root.get("buffers", []):
            uri = buffer.get("uri")
            if uri is None:
                self.buffers.append(binary)
            elif uri.startswith("data:"):
                self.buffers.append(base64.b64decode(uri.split(",", 1)[1] + "=="))
            else:
                self.buffers.append((path.parent / unquote(uri)).read_bytes())

    def accessor(self, index):
        accessor = self.root["accessors"][index]
        width, count = COUNTS[accessor["type"]], accessor["count"]
        if count > MAX_POINTS:
            raise NotJudged
        rows = [(0.0,) * width] * count
        if "bufferView" in accessor:
            rows = self.rows(accessor["bufferView"], accessor.get("byteOffset", 0), accessor["componentType"], width, count)
        if "sparse" in accessor:
            sparse, rows = accessor["sparse"], list(rows)
            places, values = sparse["indices"], sparse["values"]
            at = self.rows(places["bufferView"], places.get("byteOffset", 0), places["componentType"], 1, sparse["count"])
            new = self.rows(values["bufferView"], values.get("byteOffset", 0), accessor["componentType"], width, sparse["count"])
            for (place,), value in zip(at, new):
                rows[place] = value
        if accessor.get("normalized"):
            limit = LIMITS[accessor["componentType"]]
            rows = [tuple(max(x / limit, -1.0) for x in row) for row in rows]
        return rows

    def rows(self, view, offset, component, width, count):
        view = self.root["bufferViews"][view]
        layout = struct.Struct("<" + FORMATS[component] * width)
        stride = view.get("byteStride") or layout.size
        start = view.get("byteOffset", 0) + offset
        data = self.buffers[view["buffer"]]
        if width in (4, 9) and component in (5120, 5121, 5122, 5123) and "byteStride" not in view and width == 9:
            raise NotJudged
        return [layout.unpack_from(data, start + at * stride) for at in range(count)]


def local(node):
    if "matrix" in node:
        return node["matrix"]
    (x, y, z, w), (sx, sy, sz), (tx, ty, tz) = (
        node.get("rotation", (0, 0, 0, 1)),
        node.get("scale", (1, 1, 1)),
        node.get("translation", (0, 0, 0)),
    )
    return [
        sx * (1 - 2 * (y * y + z * z)), sx * 2 * (x * y + z * w), sx * 2 * (x * z - y * w), 0,
        sy * 2 * (x * y - z * w), sy * (1 - 2 * (x * x + z * z)), sy * 2 * (y * z + x * w), 0,
        sz * 2 * (x * z + y * w), sz * 2 * (y * z - x * w), sz * (1 - 2 * (x * x + y * y)), 0,
        tx, ty, tz, 1,
    ]  # fmt: skip


def multiply(a, b):
    return [sum(a[4 * k + row] * b[4 * column + k] for k in range(4)) for column in range(4) for row in range(4)]


def transform(m, p):
    x, y, z = p
    return tuple(m[row] * x + m[4 + row] * y + m[8 + row] * z + m[12 + row] for row in range(3))


def bounds(path):
    """Returns the box around the visible meshes of the default scene; `None` if there is none."""
    reader = Reader(path)
    root = reader.root
    nodes = root.get("nodes", [])
    worlds, visible, order = {}, {}, []
    children = {child for node in nodes for child in node.get("children", [])}
    stack = [(at, IDENTITY, True) for at in range(len(nodes)) if at not in children]
    while stack:
        at, above, shown = stack.pop()
        worlds[at] = multiply(above, local(nodes[at]))
        extension = nodes[at].get("extensions", {}).get("KHR_node_visibility", {})
        visible[at] = shown and extension.get("visible", True)
        stack += [(child, worlds[at], visible[at]) for child in nodes[at].get("children", [])]
    scenes = root.get("scenes")
    starts = scenes[root.get("scene", 0)].get("nodes", []) if scenes else [n for n in range(len(nodes)) if n not in children]
    while starts:
        at, *starts = starts
        order.append(at)
        starts = [*nodes[at].get("children", []), *starts]
    boxes = [box for at in order if visible[at] and "mesh" in nodes[at] for box in placed(reader, nodes[at], at, worlds)]
    if not boxes:
        return None
    return [min(axis) for axis in zip(*boxes)], [max(axis) for axis in zip(*boxes)]


def placed(reader, node, at, worlds):
    root = reader.root
    mesh = root["meshes"][node["mesh"]]
    palette = None
    if "skin" in node:
        skin = root["skins"][node["skin"]]
        binds = reader.accessor(skin["inverseBindMatrices"]) if "inverseBindMatrices" in skin else [IDENTITY] * len(skin["joints"])
        palette = [multiply(worlds[joint], bind) for joint, bind in zip(skin["joints"], binds)]
    for primitive in mesh["primitives"]:
        attributes = primitive.get("attributes", {})
        if "POSITION" not in attributes or primitive.get("mode", 4) < 4:
            continue
        points = reader.accessor(attributes["POSITION"])
        weights = node.get("weights", mesh.get("weights", []))
        for weight, target in zip(weights, primitive.get("targets", [])):
            if weight and "POSITION" in target:
                offsets = reader.accessor(target["POSITION"])
                points = [tuple(p + weight * o for p, o in zip(*pair)) for pair in zip(points, offsets)]
        if palette is None or "JOINTS_0" not in attributes:
            yield from (transform(worlds[at], point) for point in points)
            continue
        sets = [
            (reader.accessor(attributes[f"JOINTS_{k}"]), reader.accessor(attributes[f"WEIGHTS_{k}"]))
            for k in range(4)
            if f"JOINTS_{k}" in attributes
        ]
        for index in range(len(points)):
            row = [(j, w) for joints, weights in sets for j, w in zip(joints[index], weights[index]) if w]
            total = sum(w for _, w in row)
            if total == 0:
                yield transform(worlds[at], points[index])
                continue
            moved = [(w / total, transform(palette[j], points[index])) for j, w in row]
            yield tuple(sum(w * p[axis] for w, p in moved) for axis in range(3))
