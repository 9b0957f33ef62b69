"""Reads a file with Blender and writes the positions of a mesh at given frames, and its polygons.

    python blender_points.py JOBS.json

A job is {"file", "fps", "seconds": [times], "mesh" (part of the object's name, or null if there is only one), "out":
"….npz"}; for FBX files also "clip" (the name of a take), "up" (the axis) and "metres_per_unit"; the script reverts the
conversion that Blender applies. The answer, one line of JSON on standard output, lists the objects. `out` receives
`points` float64 [times, N, 3] in the axes of the file (the conversion from Y up to Z up is also reverted), `sizes` and
`corners` of the polygons, and `uvs` per corner if the mesh has UVs.
"""

import os

import bpy
import numpy as np
from jobs import answer_all

IMPORTERS = {
    ".abc": lambda path: bpy.ops.wm.alembic_import(filepath=path, as_background_job=False),
    ".fbx": lambda path: bpy.ops.wm.fbx_import(filepath=path, anim_offset=0),
    ".glb": lambda path: bpy.ops.import_scene.gltf(filepath=path),
    ".usda": lambda path: bpy.ops.wm.usd_import(filepath=path),
}
# Points of a file with Y up are (x, −z, y) in Blender.
Y_UP_FROM_Z_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
FROM_Z_UP = {
    "X": np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]),
    "Y": Y_UP_FROM_Z_UP,
    "Z": np.eye(3),
}


def run(job):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    # Importers convert seconds to scene frames, so the frame rate must be set before the import.
    scene.render.fps = round(job["fps"])
    scene.render.fps_base = round(job["fps"]) / job["fps"]
    IMPORTERS[os.path.splitext(job["file"])[1]](job["file"])
    meshes = [thing for thing in bpy.data.objects if thing.type == "MESH"]
    target = pick(meshes, job.get("mesh"))
    if job.get("clip"):
        play(job["clip"])
    # Importers may set the rate of the scene to that of the file.
    fps = scene.render.fps / scene.render.fps_base
    points = np.stack([points_at(scene, target, seconds * fps) for seconds in job["seconds"]])
    points = points @ FROM_Z_UP[job.get("up", "Y")].T / job.get("metres_per_unit", 1.0)
    arrays = {"points": points, **polygons_of(target)}
    np.savez(job["out"], **arrays)
    return {"objects": [thing.name for thing in meshes]}


def play(clip):
    """Assigns the action of a take to every armature and every set of shape keys."""
    action = bpy.data.actions[clip]
    for thing in [*bpy.data.objects, *bpy.data.shape_keys]:
        kind = "OBJECT" if isinstance(thing, bpy.types.Object) else "KEY"
        slots = [slot for slot in action.slots if slot.identifier == f"{action_prefix(kind)}{thing.name}"]
        if slots:
            data = thing.animation_data or thing.animation_data_create()
            data.action = action
            data.action_slot = slots[0]


def action_prefix(kind):
    return "OB" if kind == "OBJECT" else "KE"


def pick(meshes, name):
    # The glTF importer adds an 'Icosphere' that draws the bones.
    meshes = [mesh for mesh in meshes if not mesh.name.startswith("Icosphere")]
    exact = [mesh for mesh in meshes if mesh.name == name]
    if exact:
        return exact[0]
    if name is not None:
        meshes = [mesh for mesh in meshes if name in mesh.name]
    if len(meshes) != 1:
        raise ValueError(f"{len(meshes)} meshes match {name!r}")
    return meshes[0]


def points_at(scene, target, frame):
    whole = int(np.floor(frame + 1e-6))
    scene.frame_set(whole, subframe=max(0.0, frame - whole))
    evaluated = target.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    flat = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", flat)
    world = np.array(evaluated.matrix_world)
    evaluated.to_mesh_clear()
    return flat.reshape(-1, 3).astype(np.float64) @ world[:3, :3].T + world[:3, 3]


def polygons_of(target):
    mesh = target.data
    sizes = np.empty(len(mesh.polygons), dtype=np.int32)
    mesh.polygons.foreach_get("loop_total", sizes)
    corners = np.empty(len(mesh.loops), dtype=np.int32)
    mesh.loops.foreach_get("vertex_index", corners)
    arrays = {"sizes": sizes, "corners": corners}
    if mesh.uv_layers:
        uvs = np.empty(2 * len(mesh.loops), dtype=np.float32)
        mesh.uv_layers[0].uv.foreach_get("vector", uvs)
        arrays["uvs"] = uvs.reshape(-1, 2)
    return arrays


def main():
    # Importers print to standard output, which must contain only answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    answer_all(run, answers)


main()
