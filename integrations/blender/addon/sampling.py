"""Reads animated objects of the scene into arrays."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from .errors import SceneError

# Name of the joint of points without weights.
STATIC = "static"


@dataclass
class Sampled:
    """Frames of an animated object in world space."""

    faces: np.ndarray
    frames: np.ndarray
    first_frame: int
    fps: float

    @property
    def diagonal(self) -> float:
        return float(np.linalg.norm(np.ptp(self.frames[0], axis=0)))


@dataclass
class Rigged:
    """A mesh with an armature in world space."""

    faces: np.ndarray
    points: np.ndarray
    weights: np.ndarray
    bind: np.ndarray
    transforms: np.ndarray
    parents: list[int | None]
    joints: list[str]


def frame_rate(scene: bpy.types.Scene) -> float:
    return scene.render.fps / scene.render.fps_base


def sample(context: bpy.types.Context, thing: bpy.types.Object, first: int, last: int) -> Sampled:
    """Evaluates an object with all its modifiers, shape keys and caches in every frame from `first` to `last`."""
    scene = context.scene
    if last <= first:
        raise SceneError("the animation has fewer than two frames: set the start and end frame")
    before = scene.frame_current
    faces, frames = None, []
    try:
        for frame in range(first, last + 1):
            scene.frame_set(frame)
            points, triangles = _evaluated(context, thing)
            if faces is None:
                faces = triangles
            elif len(points) != len(frames[0]) or len(triangles) != len(faces):
                raise SceneError(
                    f"the topology of '{thing.name}' changes in frame {frame}: disable modifiers such as Remesh or Fluid"
                )
            frames.append(points)
    finally:
        scene.frame_set(before)
    if not len(faces):
        raise SceneError(f"'{thing.name}' has no faces")
    return Sampled(faces, np.stack(frames), first, frame_rate(scene))


def _evaluated(context: bpy.types.Context, thing: bpy.types.Object) -> tuple[np.ndarray, np.ndarray]:
    """Points of the evaluated mesh in world space, and its triangles."""
    evaluated = thing.evaluated_get(context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    try:
        points = positions(mesh.vertices)
        mesh.calc_loop_triangles()
        triangles = np.empty(3 * len(mesh.loop_triangles), dtype=np.int32)
        mesh.loop_triangles.foreach_get("vertices", triangles)
    finally:
        evaluated.to_mesh_clear()
    return transformed(points, evaluated.matrix_world), triangles.reshape(-1, 3)


def positions(vertices: bpy.types.bpy_prop_collection) -> np.ndarray:
    """Coordinates of vertices or of the points of a shape key."""
    flat = np.empty(3 * len(vertices), dtype=np.float32)
    vertices.foreach_get("co", flat)
    return flat.reshape(-1, 3)


def transformed(points: np.ndarray, matrix: object) -> np.ndarray:
    world = np.array(matrix, dtype=np.float64)
    return np.ascontiguousarray(points @ world[:3, :3].T + world[:3, 3], dtype=np.float32)


def armature_modifier(thing: bpy.types.Object) -> bpy.types.ArmatureModifier | None:
    """The first armature modifier with an armature."""
    found = [m for m in thing.modifiers if m.type == "ARMATURE" and m.object is not None and m.show_viewport]
    return found[0] if found else None


def sample_rig(context: bpy.types.Context, thing: bpy.types.Object, first: int, last: int) -> Rigged:
    """Reads the rest pose, weights and joint motion of a mesh with an armature."""
    modifier = armature_modifier(thing)
    if modifier is None:
        raise SceneError(f"'{thing.name}' has no armature modifier")
    if modifier.use_deform_preserve_volume:
        raise SceneError("disable 'Preserve Volume' of the armature modifier: its blending is not linear")
    others = [m.name for m in thing.modifiers if m != modifier and m.show_viewport]
    if others:
        raise SceneError(f"disable or apply the other modifiers first: {', '.join(others)}")
    if thing.data.shape_keys is not None and len(thing.data.shape_keys.key_blocks) > 1:
        raise SceneError(f"'{thing.name}' has shape keys: apply or remove them first")
    armature = modifier.object
    bones = [bone for bone in armature.data.bones if bone.use_deform]
    if not bones:
        raise SceneError(f"'{armature.name}' has no deforming bones")
    index = {bone.name: at for at, bone in enumerate(bones)}
    world, rest_world = np.array(thing.matrix_world), np.array(armature.matrix_world)
    mesh = thing.data
    points = transformed(positions(mesh.vertices), world)
    mesh.calc_loop_triangles()
    faces = np.empty(3 * len(mesh.loop_triangles), dtype=np.int32)
    mesh.loop_triangles.foreach_get("vertices", faces)
    weights = _weights(thing, index)
    bind = [rest_world @ np.array(bone.matrix_local) for bone in bones]
    names = [bone.name for bone in bones]
    parents = [_deforming_parent(bone, index) for bone in bones]
    transforms = _poses(context, armature, names, first, last)
    still = weights.sum(axis=1) == 0
    if still.any():
        # Blender does not move points without weights.
        weights = np.concatenate([weights, still[:, None].astype(weights.dtype)], axis=1)
        bind.append(np.eye(4))
        names.append(STATIC)
        parents.append(None)
        still_frames = np.broadcast_to(np.eye(4), (len(transforms), 1, 4, 4))
        transforms = np.concatenate([transforms, still_frames], axis=1)
    weights /= weights.sum(axis=1, keepdims=True)
    return Rigged(faces.reshape(-1, 3), points, weights, np.stack(bind), transforms, parents, names)


def _deforming_parent(bone: bpy.types.Bone, index: dict[str, int]) -> int | None:
    parent = bone.parent
    while parent is not None and parent.name not in index:
        parent = parent.parent
    return None if parent is None else index[parent.name]


def _weights(thing: bpy.types.Object, index: dict[str, int]) -> np.ndarray:
    """Weights of points × bones; groups that are not those of deforming bones are skipped."""
    bone_of_group = {group.index: index[group.name] for group in thing.vertex_groups if group.name in index}
    weights = np.zeros((len(thing.data.vertices), len(index)), dtype=np.float64)
    for vertex in thing.data.vertices:
        for group in vertex.groups:
            bone = bone_of_group.get(group.group)
            if bone is not None:
                weights[vertex.index, bone] = group.weight
    return weights


def _poses(
    context: bpy.types.Context, armature: bpy.types.Object, names: list[str], first: int, last: int
) -> np.ndarray:
    """World transforms of the bones in every frame, (frames, bones, 4, 4)."""
    if last <= first:
        raise SceneError("the animation has fewer than two frames: set the start and end frame")
    scene = context.scene
    before = scene.frame_current
    frames = []
    try:
        for frame in range(first, last + 1):
            scene.frame_set(frame)
            evaluated = armature.evaluated_get(context.evaluated_depsgraph_get())
            world = np.array(evaluated.matrix_world, dtype=np.float64)
            frames.append([world @ np.array(evaluated.pose.bones[name].matrix) for name in names])
    finally:
        scene.frame_set(before)
    transforms = np.array(frames)
    transforms[..., 3, :] = [0, 0, 0, 1]
    return transforms
