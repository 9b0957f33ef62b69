"""Writes a rigged box with shape keys in every format that Blender supports: python seeds_blender.py FOLDER."""

import sys
from pathlib import Path

import bpy


def make_scene():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.mesh.primitive_cube_add()
    box = bpy.context.object
    box.shape_key_add(name="rest")
    key = box.shape_key_add(name="tall")
    key.data[0].co.z += 1
    for frame, value in [(0, 0.0), (4, 1.0)]:
        key.value = value
        key.keyframe_insert("value", frame=frame)
    bpy.ops.object.armature_add()
    armature = bpy.context.object
    box.parent = armature
    modifier = box.modifiers.new("skin", "ARMATURE")
    modifier.object = armature
    box.vertex_groups.new(name="Bone").add(range(8), 1.0, "REPLACE")
    bone = armature.pose.bones["Bone"]
    bone.rotation_mode = "XYZ"
    for frame, angle in [(0, 0.0), (4, 1.0)]:
        bone.rotation_euler = (angle, 0, 0)
        bone.keyframe_insert("rotation_euler", frame=frame)
    bpy.context.scene.frame_start = 0
    bpy.context.scene.frame_end = 4


def main():
    folder = Path(sys.argv[1])
    make_scene()
    path = lambda name: str(folder / name)
    bpy.ops.export_scene.fbx(filepath=path("blender.fbx"))
    bpy.ops.wm.alembic_export(filepath=path("blender.abc"), start=0, end=4, as_background_job=False)
    bpy.ops.wm.usd_export(filepath=path("blender.usdc"), export_animation=True)
    bpy.ops.wm.usd_export(filepath=path("blender.usda"), export_animation=True)
    bpy.ops.wm.obj_export(filepath=path("blender.obj"))
    bpy.ops.wm.ply_export(filepath=path("blender.ply"))
    bpy.ops.wm.ply_export(filepath=path("blender_text.ply"), ascii_format=True)
    bpy.ops.export_scene.gltf(filepath=path("blender.glb"), export_format="GLB")
    draco = {"export_draco_mesh_compression_enable": True}
    bpy.ops.export_scene.gltf(filepath=path("blender_draco.glb"), export_format="GLB", **draco)


main()
