"""Creates armatures, skinned meshes, shape keys and cached meshes in the scene."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING

import bpy
import numpy as np
from mathutils import Matrix

import dermis

from .sampling import positions

if TYPE_CHECKING:
    from .sampling import Sampled

# Deviation from orthogonal axes, relative to their lengths, above which a transform has shear.
SHEAR = 1e-5
# Value of the interpolation 'LINEAR' in arrays of keys.
LINEAR = bpy.types.Keyframe.bl_rna.properties["interpolation"].enum_items["LINEAR"].value
# Version of point caches (PC2).
PC2_VERSION = 1


def build_skin(
    context: bpy.types.Context, source: bpy.types.Object, sampled: Sampled, skin: dermis.Skin
) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Creates the armature and the skinned mesh of a fit; returns (mesh, armature)."""
    armature = _armature(context, f"{source.name} rig", skin, sampled)
    mesh = _rest_mesh(context, source, f"{source.name} skin", np.asarray(skin.rest))
    _vertex_groups(mesh, skin)
    modifier = mesh.modifiers.new("dermis", "ARMATURE")
    modifier.object = armature
    mesh.parent = armature
    if skin.rank:
        coefficients = np.asarray(skin.coefficients(0))
        add_shape_keys(mesh, skin.basis, coefficients, sampled.first_frame, "correction")
    return mesh, armature


def _link(context: bpy.types.Context, thing: bpy.types.Object, source: bpy.types.Object | None = None) -> None:
    collections = source.users_collection if source is not None else ()
    (collections[0] if collections else context.scene.collection).objects.link(thing)


def _armature(context: bpy.types.Context, name: str, skin: dermis.Skin, sampled: Sampled) -> bpy.types.Object:
    """An armature with the bones of a skin, and its action."""
    armature = bpy.data.objects.new(name, bpy.data.armatures.new(name))
    _link(context, armature)
    moved = skin.transforms(0) @ np.linalg.inv(skin.bind)
    length = 0.06 * sampled.diagonal
    rests = _rest_frames(skin)
    nested = bool(_has_shear(_relative(moved, rests)).any())
    if nested:
        names = [name for bone in skin.bones for name in (f"{bone}.move", f"{bone}.axes", bone)]
        parents = [(None, at - 1, at - 1)[at % 3] for at in range(len(names))]
        _edit_bones(context, armature, names, parents, np.repeat(rests, 3, axis=0), length)
    else:
        names, parents = list(skin.bones), list(skin.parents)
        _edit_bones(context, armature, names, parents, rests, length)
    # Rest matrices are rounded to single precision, so that motion is computed relative to those that are stored.
    stored = np.array([np.array(armature.data.bones[name].matrix_local, dtype=np.float64) for name in names])
    stored[:, 3] = [0, 0, 0, 1]
    for at, bone in enumerate(names):
        armature.data.bones[bone].use_deform = not nested or at % 3 == 2
        armature.pose.bones[bone].rotation_mode = "QUATERNION"
    if nested:
        for at, bone in enumerate(names):
            armature.data.bones[bone].hide = at % 3 != 2
        channels = _nested_channels(_relative(moved, stored[2::3]))
    else:
        channels = _channels(moved @ stored, stored, parents)
    action = bpy.data.actions.new(name)
    curves = _curves_of(armature, action, "OBJECT")
    for bone, values in zip(names, channels):
        for prop, numbers in values.items():
            _keys(curves, f'pose.bones["{bpy.utils.escape_identifier(bone)}"].{prop}', numbers, sampled.first_frame)
    return armature


def _rest_frames(skin: dermis.Skin) -> np.ndarray:
    """Rest matrices of the bones: rotations and translations."""
    rests = np.array(skin.bind)
    left, _, right = np.linalg.svd(rests[:, :3, :3])
    rotations = left @ right
    flipped = np.linalg.det(rotations) < 0
    left[flipped, :, 2] *= -1
    rests[:, :3, :3] = left @ right
    weights = skin.weights
    weights = weights.toarray() if hasattr(weights, "toarray") else weights
    if not any(parent is not None for parent in skin.parents) and np.allclose(rests, np.eye(4)):
        # Bones without a location are drawn in the middle of their points.
        total = np.maximum(weights.sum(axis=0), 1e-12)[:, None]
        rests[:, :3, 3] = (weights.T @ skin.rest) / total
    return rests


def _relative(moved: np.ndarray, rests: np.ndarray) -> np.ndarray:
    """Motion of the bones in the axes of their rest matrices."""
    return np.linalg.inv(rests) @ moved @ rests


def _has_shear(transforms: np.ndarray) -> np.ndarray:
    linear = transforms[..., :3, :3]
    lengths = np.linalg.norm(linear, axis=-2)
    axes = linear / np.maximum(lengths, 1e-12)[..., None, :]
    gram = np.swapaxes(axes, -1, -2) @ axes
    return (np.abs(gram - np.eye(3)).max(axis=(-2, -1)) > SHEAR).reshape(-1)


def _nested_channels(transforms: np.ndarray) -> list[dict[str, np.ndarray]]:
    """Channels of three nested bones per transform: translation and rotation, axes and scale, axes back."""
    translations, rotations, axes, scales = dermis.factor_transforms(transforms)
    channels = []
    for bone in range(transforms.shape[1]):
        back = axes[:, bone] * [1, -1, -1, -1]
        channels.append({"location": translations[:, bone], "rotation_quaternion": rotations[:, bone]})
        channels.append({"rotation_quaternion": axes[:, bone], "scale": scales[:, bone]})
        channels.append({"rotation_quaternion": back})
    return channels


def _channels(
    posed: np.ndarray, rests: np.ndarray, parents: list[int | None]
) -> list[dict[str, np.ndarray]]:
    """Channels of bones without shear, relative to their parents."""
    channels = []
    for bone, parent in enumerate(parents):
        local = np.linalg.inv(rests[bone]) @ posed[:, bone]
        if parent is not None:
            offset = np.linalg.inv(rests[bone]) @ rests[parent]
            local = offset @ np.linalg.inv(posed[:, parent]) @ posed[:, bone]
        parts = [Matrix(matrix).decompose() for matrix in local]
        rotations = np.array([tuple(rotation) for _, rotation, _ in parts])
        # A quaternion and its negative are the same rotation; curves follow the shorter arc.
        flips = np.where((rotations[1:] * rotations[:-1]).sum(axis=1) < 0, -1.0, 1.0)
        rotations[1:] *= np.cumprod(flips)[:, None]
        channels.append(
            {
                "location": np.array([tuple(location) for location, _, _ in parts]),
                "rotation_quaternion": rotations,
                "scale": np.array([tuple(scale) for _, _, scale in parts]),
            }
        )
    return channels


def _edit_bones(
    context: bpy.types.Context,
    armature: bpy.types.Object,
    names: list[str],
    parents: list[int | None],
    rests: np.ndarray,
    length: float,
) -> None:
    for thing in context.selected_objects:
        thing.select_set(False)
    armature.select_set(True)
    context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    try:
        bones = []
        for at, name in enumerate(names):
            bone = armature.data.edit_bones.new(name)
            bone.head, bone.tail = (0, 0, 0), (0, length, 0)
            bone.matrix = Matrix(rests[at])
            names[at] = bone.name
            bones.append(bone)
        for bone, parent in zip(bones, parents):
            bone.parent = None if parent is None else bones[parent]
    finally:
        bpy.ops.object.mode_set(mode="OBJECT")


def _rest_mesh(
    context: bpy.types.Context, source: bpy.types.Object, name: str, rest: np.ndarray
) -> bpy.types.Object:
    """A copy of the evaluated mesh with all its layers and materials, in the rest pose and in world space."""
    depsgraph = context.evaluated_depsgraph_get()
    evaluated = source.evaluated_get(depsgraph)
    mesh = bpy.data.meshes.new_from_object(evaluated, preserve_all_data_layers=True, depsgraph=depsgraph)
    mesh.name = name
    mesh.vertices.foreach_set("co", np.ascontiguousarray(rest, dtype=np.float32).ravel())
    mesh.update()
    thing = bpy.data.objects.new(name, mesh)
    _link(context, thing, source)
    thing.vertex_groups.clear()
    return thing


def _vertex_groups(thing: bpy.types.Object, skin: dermis.Skin) -> None:
    weights = skin.weights
    weights = weights.toarray() if hasattr(weights, "toarray") else weights
    for bone, name in enumerate(skin.bones):
        group = thing.vertex_groups.new(name=name)
        for point in np.flatnonzero(weights[:, bone]):
            group.add([int(point)], float(weights[point, bone]), "REPLACE")


def add_shape_keys(
    thing: bpy.types.Object, basis: np.ndarray, coefficients: np.ndarray, first_frame: int, name: str
) -> None:
    """Adds shape keys with animated values; `basis` are offsets in the space of the mesh."""
    if thing.data.shape_keys is None:
        thing.shape_key_add(name="Basis")
    rest = positions(thing.data.shape_keys.key_blocks[0].data)
    keys = thing.data.shape_keys
    keys.use_relative = True
    curves = _curves_of(keys, bpy.data.actions.new(f"{thing.name} {name}s"), "KEY")
    for at, offsets in enumerate(basis):
        # Values of shape keys are limited to their sliders, so they are scaled to the range from −1 to 1.
        size = float(np.abs(coefficients[:, at]).max()) or 1.0
        block = thing.shape_key_add(name=f"{name} {at + 1}", from_mix=False)
        block.slider_min, block.slider_max = -1.0, 1.0
        shape = np.asarray(rest + size * np.asarray(offsets), dtype=np.float32)
        block.data.foreach_set("co", shape.ravel())
        path = f'key_blocks["{bpy.utils.escape_identifier(block.name)}"].value'
        _keys(curves, path, coefficients[:, at : at + 1] / size, first_frame, indexed=False)


def build_cached(
    context: bpy.types.Context,
    source: bpy.types.Object,
    name: str,
    sequence: dermis.MeshSequence,
    first_frame: int,
    folder: Path,
) -> bpy.types.Object:
    """Creates a mesh in world space whose animation is read from a point cache in `folder`."""
    frames = np.asarray(sequence.frames)
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(frames[0].tolist(), [], np.asarray(sequence.faces).tolist())
    mesh.polygons.foreach_set("use_smooth", np.ones(len(mesh.polygons), dtype=bool))
    mesh.update()
    for slot in source.material_slots:
        mesh.materials.append(slot.material)
    thing = bpy.data.objects.new(name, mesh)
    _link(context, thing, source)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{bpy.path.clean_name(thing.name)}.pc2"
    header = struct.pack("<12siiffi", b"POINTCACHE2", PC2_VERSION, frames.shape[1], 0.0, 1.0, len(frames))
    path.write_bytes(header + np.ascontiguousarray(frames, dtype="<f4").tobytes())
    modifier = thing.modifiers.new("dermis", "MESH_CACHE")
    modifier.cache_format = "PC2"
    modifier.filepath = bpy.path.relpath(str(path)) if bpy.data.filepath else str(path)
    modifier.interpolation = "LINEAR"
    modifier.frame_start = first_frame
    return thing


def _curves_of(owner: bpy.types.ID, action: bpy.types.Action, kind: str) -> bpy.types.bpy_prop_collection:
    """F-curves of a new action that is assigned to `owner`."""
    data = owner.animation_data or owner.animation_data_create()
    slot = action.slots.new(id_type=kind, name=owner.name)
    strip = action.layers.new("Layer").strips.new(type="KEYFRAME")
    data.action = action
    data.action_slot = slot
    return strip.channelbag(slot, ensure=True).fcurves


def _keys(
    curves: bpy.types.bpy_prop_collection, path: str, values: np.ndarray, first_frame: int, indexed: bool = True
) -> None:
    """Adds linear keys in every frame: one curve per column of `values`."""
    count = len(values)
    for at in range(values.shape[1]):
        curve = curves.new(path, index=at) if indexed else curves.new(path)
        points = curve.keyframe_points
        points.add(count)
        keys = np.stack([np.arange(first_frame, first_frame + count), values[:, at]], axis=1)
        points.foreach_set("co", keys.astype(np.float32).ravel())
        points.foreach_set("interpolation", np.full(count, LINEAR, dtype=np.int32))
        curve.update()
