"""Compares Alembic files of dermis and Blender (the `bpy` wheel).

    alembic_blender.py make FILE.abc EXPECTED.npz            export a scene, and the contents that dermis must read from it
    alembic_blender.py compare READ.npz EXPECTED.npz NAME    compare a sequence read by dermis with them
    alembic_blender.py check FILE.abc EXPECTED.npz           import a file written by dermis and compare it with them

READ.npz is the output of `dermis convert FILE.abc READ.npz --mesh NAME`. EXPECTED.npz contains `fps`, `start` (seconds) and,
for the k-th object of the file, `name_k`, `frames_k` [S, N, 3] in the space of the file (y up) and, if known, `sizes_k`,
`corners_k` (polygons, counter-clockwise) and `uvs_k` [corners, 2] (v upwards). Names are paths, or the names of the
transforms directly above the meshes.

Blender has z up and Alembic has y up by convention: Blender rotates files by 90 degrees about x on import and export.
"""

import math
import re
import sys

import numpy as np

try:
    import bpy
except ImportError:
    bpy = None  # `compare` does not use Blender.


def to_file_space(points):
    """Converts (x, y, z) of Blender to (x, z, -y) of the file."""
    return np.stack([points[:, 0], points[:, 2], -points[:, 1]], axis=1)


def world_points(blender_object):
    """Returns the evaluated points of the current frame in the space of the file, and the evaluated mesh."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    evaluated = blender_object.evaluated_get(depsgraph)
    mesh = evaluated.to_mesh()
    points = np.empty(len(mesh.vertices) * 3, dtype=np.float32)
    mesh.vertices.foreach_get("co", points)
    matrix = np.array(evaluated.matrix_world, dtype=np.float64)
    points = points.reshape(-1, 3).astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3]
    return to_file_space(points), mesh


def set_time(seconds):
    frame = seconds * bpy.context.scene.render.fps / bpy.context.scene.render.fps_base
    whole = math.floor(frame + 1e-6)
    bpy.context.scene.frame_set(whole, subframe=min(max(frame - whole, 0.0), 0.999))


def set_fps(fps):
    base = 1.0 if abs(fps - round(fps)) < 1e-6 else round(fps) / fps
    bpy.context.scene.render.fps = round(fps)
    bpy.context.scene.render.fps_base = base


def foreach(collection, name, count, dtype):
    values = np.empty(count, dtype=dtype)
    collection.foreach_get(name, values)
    return values


def mesh_arrays(mesh):
    corners = foreach(mesh.loops, "vertex_index", len(mesh.loops), np.int32)
    sizes = foreach(mesh.polygons, "loop_total", len(mesh.polygons), np.int32)
    uvs = None
    if mesh.uv_layers:
        uvs = foreach(mesh.uv_layers[0].uv, "vector", 2 * len(mesh.loops), np.float32).reshape(-1, 2)
    return sizes, corners, uvs


def enclosed_volume(points, sizes, corners):
    volume, first = 0.0, 0
    for size in sizes:
        polygon = points[corners[first : first + size]]
        for k in range(1, size - 1):
            volume += np.dot(polygon[0], np.cross(polygon[k], polygon[k + 1])) / 6
        first += size
    return volume


def check(path, expected_path):
    expected = np.load(expected_path)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    set_fps(float(expected["fps"]))
    bpy.ops.wm.alembic_import(filepath=path, as_background_job=False)
    found = {}
    for blender_object in bpy.data.objects:
        if blender_object.type == "MESH":
            # Only deforming objects have their path. All are named after the transforms above them, with a number if
            # the name is already used by a transform with children.
            paths = [m.object_path for m in blender_object.modifiers if m.type == "MESH_SEQUENCE_CACHE"]
            found |= {name: blender_object for name in [re.sub(r"\.\d+$", "", blender_object.name), *paths]}
    count = sum(key.startswith("name_") for key in expected.files)
    for k in range(count):
        name = str(expected[f"name_{k}"])
        parts = name.strip("/").split("/")
        blender_object = found.get(name) or found.get(parts[max(len(parts) - 2, 0)]) or found.get(parts[-1])
        assert blender_object, f"{name} is missing among {sorted(found)}"
        frames = expected[f"frames_{k}"]
        extent = np.ptp(frames.reshape(-1, 3), axis=0).max()
        worst = 0.0
        for frame, positions in enumerate(frames):
            set_time(float(expected["start"]) + frame / float(expected["fps"]))
            points, mesh = world_points(blender_object)
            assert points.shape == positions.shape, f"{name}: {points.shape} points, not {positions.shape}"
            worst = max(worst, np.abs(points - positions).max() / extent)
        assert worst < 1e-6, f"{name}: positions differ by {worst:.2e} of the extent"
        sizes, corners, uvs = mesh_arrays(mesh)
        if f"sizes_{k}" in expected:
            assert np.array_equal(sizes, expected[f"sizes_{k}"]), f"{name}: the polygons differ"
            assert np.array_equal(corners, expected[f"corners_{k}"]), f"{name}: the corners differ"
        if f"uvs_{k}" in expected:
            assert uvs is not None, f"{name}: no UVs"
            difference = np.abs(uvs - expected[f"uvs_{k}"]).max()
            assert difference < 1e-6, f"{name}: UVs differ by {difference:.2e}"
        if f"materials_{k}" in expected:
            names = [slot.name.split(".")[0] for slot in blender_object.data.materials]
            assert names == list(expected[f"materials_{k}"]), f"{name}: materials {names}"
        if f"normals_{k}" in expected:
            normals = foreach(mesh.corner_normals, "vector", 3 * len(mesh.loops), np.float32).reshape(-1, 3)
            difference = np.abs(to_file_space(normals) - expected[f"normals_{k}"]).max()
            assert difference < 1e-2, f"{name}: normals differ by {difference:.2e}"
        volume = enclosed_volume(points, sizes, corners)
        print(f"{name}: {len(frames)} frames agree to {worst:.1e}, volume {volume:.4g}")


def compare(read_path, expected_path, name):
    expected, read = np.load(expected_path), np.load(read_path)
    k = next(k for k in range(len(expected.files)) if str(expected[f"name_{k}"]) == name)
    frames = expected[f"frames_{k}"]
    found = read["frames"] if "frames" in read else read["rest"][None]
    if len(found) == 1:
        frames = frames[:1]
    assert found.shape == frames.shape, f"{name}: {found.shape} positions, not {frames.shape}"
    worst = np.abs(found - frames).max() / np.ptp(frames.reshape(-1, 3), axis=0).max()
    assert worst < 1e-6, f"{name}: positions differ by {worst:.2e} of the extent"
    if "fps" in read:
        assert float(read["fps"]) == float(expected["fps"]), f"{name}: {read['fps']} frames per second"
    print(f"{name}: {len(found)} frames agree to {worst:.1e}")


def add_mesh(name, points, faces, location=(0, 0, 0)):
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points, [], faces)
    mesh.update()
    blender_object = bpy.data.objects.new(name, mesh)
    blender_object.location = location
    bpy.context.scene.collection.objects.link(blender_object)
    return blender_object


def prism(sides, height):
    """Builds a closed prism: an n-gon at each end, quads around it."""
    ring = [(math.cos(2 * math.pi * k / sides), math.sin(2 * math.pi * k / sides)) for k in range(sides)]
    points = [(x, y, 0.0) for x, y in ring] + [(x, y, height) for x, y in ring]
    faces = [tuple(reversed(range(sides))), tuple(range(sides, 2 * sides))]
    faces += [(k, (k + 1) % sides, sides + (k + 1) % sides, sides + k) for k in range(sides)]
    return points, faces


def add_uvs(blender_object):
    layer = blender_object.data.uv_layers.new(name="map")
    for loop, uv in enumerate(layer.uv):
        uv.vector = ((loop * 0.37) % 1.0, (loop * 0.61) % 1.0)


def make(path, expected_path):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    set_fps(25)
    scene.frame_start, scene.frame_end = 10, 21
    made = []

    # Shape keys on an n-gon prism with UVs and two materials.
    bending = add_mesh("bending", *prism(5, 2.0))
    add_uvs(bending)
    for name in ("top", "side"):
        bending.data.materials.append(bpy.data.materials.new(name))
    for polygon in bending.data.polygons:
        polygon.material_index = 0 if polygon.index < 3 else 1
    bending.shape_key_add(name="rest")
    key = bending.shape_key_add(name="bent")
    for point in key.data:
        point.co.x += 0.5 * point.co.z**2
    for frame, value in ((10, 0.0), (21, 1.0)):
        key.value = value
        key.keyframe_insert("value", frame=frame)
    made.append(bending)

    # A static mesh below a rotating parent that also has a mesh.
    parent = add_mesh("parent", *prism(4, 1.0), location=(3, 0, 0))
    for frame, angle in ((10, 0.0), (21, 1.2)):
        parent.rotation_euler = (0.3 * angle, 0.2, angle)
        parent.keyframe_insert("rotation_euler", frame=frame)
    child = add_mesh("child", *prism(3, 0.5), location=(0.5, 1.0, 2.0))
    child.scale = (1.5, 0.7, 1.0)
    child.parent = parent
    made += [parent, child]

    # A prism bent by a bone.
    armature = bpy.data.objects.new("armature", bpy.data.armatures.new("armature"))
    scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    bone = armature.data.edit_bones.new("bone")
    bone.head, bone.tail = (0, 0, 1), (0, 0, 2)
    bpy.ops.object.mode_set(mode="POSE")
    pose_bone = armature.pose.bones["bone"]
    pose_bone.rotation_mode = "XYZ"
    for frame, angle in ((10, 0.0), (21, 0.9)):
        pose_bone.rotation_euler = (angle, 0, 0)
        pose_bone.keyframe_insert("rotation_euler", frame=frame)
    bpy.ops.object.mode_set(mode="OBJECT")
    skinned = add_mesh("skinned", *prism(6, 2.0))
    group = skinned.vertex_groups.new(name="bone")
    group.add(list(range(6, 12)), 1.0, "REPLACE")
    skinned.modifiers.new("armature", "ARMATURE").object = armature
    skinned.location = (-3, 1, 0)
    made.append(skinned)

    # Static.
    still = add_mesh("still", *prism(7, 0.3), location=(0, -4, 1))
    made.append(still)

    # A second object with the same mesh.
    twin = bpy.data.objects.new("twin", still.data)
    twin.location = (2, -4, 1)
    scene.collection.objects.link(twin)
    made.append(twin)

    expected = {"fps": 25.0, "start": 10 / 25.0}
    frames = {blender_object.name: [] for blender_object in made}
    for frame in range(10, 22):
        scene.frame_set(frame)
        for blender_object in made:
            points, mesh = world_points(blender_object)
            frames[blender_object.name].append(points)
    for k, blender_object in enumerate(made):
        _, mesh = world_points(blender_object)
        sizes, corners, uvs = mesh_arrays(mesh)
        expected |= {f"name_{k}": blender_object.name, f"frames_{k}": np.array(frames[blender_object.name])}
        expected |= {f"sizes_{k}": sizes, f"corners_{k}": corners}
        if uvs is not None:
            expected[f"uvs_{k}"] = uvs
    np.savez(expected_path, **expected)
    bpy.ops.wm.alembic_export(
        filepath=path, start=10, end=21, uvs=True, normals=True, face_sets=True, use_instancing=True,
        as_background_job=False,
    )
    print(f"{len(made)} objects of {22 - 10} frames are in {path}")


if __name__ == "__main__":
    mode, *arguments = sys.argv[1:]
    {"check": check, "compare": compare, "make": make}[mode](*arguments)
