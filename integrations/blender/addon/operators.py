"""Operators of the menu Object ▸ dermis."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, StringProperty

import dermis

from .building import add_shape_keys, build_cached, build_skin
from .errors import SceneError
from .sampling import Rigged, Sampled, armature_modifier, sample, sample_rig
from .work import WorkOperator

# Name of the custom property with the measures of an object, as JSON.
METRICS = "dermis_metrics"
# Folder of point caches next to the .blend file.
CACHE_FOLDER = "dermis"

Progress = Callable[[str, int, int], None]


class AnimationOperator(WorkOperator):
    """Operator on the animation of the active mesh."""

    start: IntProperty(
        name="Start", description="First frame; -1 is that of the scene", default=-1, min=-1
    )  # type: ignore[valid-type]
    end: IntProperty(name="End", description="Last frame; -1 is that of the scene", default=-1, min=-1)  # type: ignore[valid-type]

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return context.active_object is not None and context.active_object.type == "MESH" and context.mode == "OBJECT"

    def range(self, context: bpy.types.Context) -> tuple[int, int]:
        scene = context.scene
        return (
            scene.frame_start if self.start < 0 else self.start,
            scene.frame_end if self.end < 0 else self.end,
        )

    def warn(self, notes: list[str]) -> None:
        for note in notes:
            self.report({"WARNING"}, note)


def store(thing: bpy.types.Object, title: str, metrics: dict[str, Any]) -> None:
    """Stores the measures for the panel."""
    numbers = {name: value for name, value in metrics.items() if isinstance(value, (int, float))}
    thing[METRICS] = json.dumps({"title": title, **numbers})


def activate(context: bpy.types.Context, thing: bpy.types.Object) -> None:
    for other in context.selected_objects:
        other.select_set(False)
    thing.select_set(True)
    context.view_layer.objects.active = thing


class DERMIS_OT_bake(AnimationOperator, bpy.types.Operator):
    """Turn the animation of the active object into an armature and shape keys"""

    bl_idname = "dermis.bake"
    bl_label = "Bake Animation to Bones"
    bl_options = {"REGISTER", "UNDO"}

    bones: IntProperty(name="Bones", description="Number of bones; 0 selects it automatically", default=20, min=0, max=500)  # type: ignore[valid-type]
    corrections: IntProperty(name="Corrections", description="Number of corrective shape keys", default=4, min=0, max=64)  # type: ignore[valid-type]
    influences: IntProperty(name="Influences", description="Maximum number of bones per point", default=4, min=1, max=12)  # type: ignore[valid-type]
    bone_model: EnumProperty(
        name="Bone Model",
        items=[
            ("flexible", "Flexible", "Bones stretch and shear; three nested bones each"),
            ("scaled", "Scaled", "Bones stretch along their axes"),
            ("rigid", "Rigid", "Bones rotate and translate"),
        ],
    )  # type: ignore[valid-type]
    skeleton: EnumProperty(
        name="Hierarchy",
        items=[
            ("none", "None", "Bones without parents"),
            ("fixed", "Fixed", "A joint tree with bones of constant length"),
            ("free", "Free", "A joint tree whose bones can move relative to their parents"),
        ],
    )  # type: ignore[valid-type]
    hide_original: BoolProperty(name="Hide Original", default=True)  # type: ignore[valid-type]

    def prepare(self, context: bpy.types.Context) -> tuple[bpy.types.Object, Sampled, dict[str, Any]]:
        source = context.active_object
        sampled = sample(context, source, *self.range(context))
        options = {
            "bones": self.bones or None,
            "rank": self.corrections,
            "influences": self.influences,
            "bone_model": self.bone_model,
            "skeleton": None if self.skeleton == "none" else self.skeleton,
        }
        return source, sampled, options

    def compute(self, prepared: tuple[Any, Sampled, dict[str, Any]], progress: Progress) -> dermis.Skin:
        source, sampled, options = prepared
        sequence = dermis.MeshSequence(sampled.faces, sampled.frames, fps=sampled.fps, name="animation")
        return dermis.fit_skin(sequence, progress=progress, **options)

    def build(self, context: bpy.types.Context, prepared: tuple[Any, Sampled, dict[str, Any]], result: dermis.Skin) -> None:
        source, sampled, _ = prepared
        mesh, _ = build_skin(context, source, sampled, result)
        metrics = result.metrics
        store(mesh, "Bake Animation to Bones", metrics)
        self.warn(result.notes)
        if self.hide_original:
            source.hide_set(True)
            source.hide_render = True
        activate(context, mesh)
        self.report(
            {"INFO"},
            f"{result.bone_count} bones, {result.rank} corrections: {metrics['distortion_percent']:.2f} % distortion",
        )


class CorrectiveOperator(AnimationOperator):
    """Operator that adds shape keys with animated values to a rigged mesh."""

    shapes: IntProperty(name="Shape Keys", description="Maximum number of shape keys; more are more accurate", default=8, min=1, max=64)  # type: ignore[valid-type]

    def scene_of(self, context: bpy.types.Context, rig: Rigged, frames: np.ndarray | None = None) -> dermis.Scene:
        options = {"weights": rig.weights, "bind": rig.bind, "transforms": rig.transforms, "frames": frames}
        options |= {"parents": rig.parents, "joints": rig.joints, "up": "z"}
        fps = context.scene.render.fps / context.scene.render.fps_base
        return dermis.rigged_mesh(rig.faces, rig.points, fps=fps, **options)

    def add_shapes(self, thing: bpy.types.Object, shaped: dermis.Model, first_frame: int, name: str) -> None:
        found = shaped.scene.objects[0]
        # Shapes are offsets in world space; those of shape keys are in the space of the mesh.
        to_local = np.linalg.inv(np.array(thing.matrix_world, dtype=np.float64)[:3, :3])
        add_shape_keys(thing, found.basis @ to_local.T, found.coefficients(), first_frame, name)


class DERMIS_OT_train(CorrectiveOperator, bpy.types.Operator):
    """Train corrective shape keys of the active rigged mesh from the selected animated mesh of the same topology"""

    bl_idname = "dermis.train_corrective"
    bl_label = "Train Corrective Skin"
    bl_options = {"REGISTER", "UNDO"}

    step: IntProperty(name="Every", description="Train on every nth frame", default=1, min=1)  # type: ignore[valid-type]

    def prepare(self, context: bpy.types.Context) -> tuple[Any, ...]:
        thing = context.active_object
        others = [other for other in context.selected_objects if other != thing and other.type == "MESH"]
        if len(others) != 1:
            raise SceneError("select the mesh with the example shapes, then the rigged mesh")
        first, last = self.range(context)
        rig = sample_rig(context, thing, first, last)
        examples = sample(context, others[0], first, last)
        if examples.frames.shape[1] != len(rig.points):
            found, expected = examples.frames.shape[1], len(rig.points)
            raise SceneError(f"'{others[0].name}' has {found} points, but '{thing.name}' has {expected}")
        return thing, first, self.scene_of(context, rig, examples.frames)

    def compute(self, prepared: tuple[Any, ...], progress: Progress) -> tuple[dermis.Model, dermis.Model]:
        # Shape keys are added to the weights of the object, so that these are the ones to refine.
        trained = dermis.train_envelope(prepared[2], frames=f"::{self.step}", underlying="rig", progress=progress)
        return trained, dermis.corrective_shapes(trained, count=self.shapes)

    def build(self, context: bpy.types.Context, prepared: tuple[Any, ...], result: tuple[dermis.Model, dermis.Model]) -> None:
        thing, first, _ = prepared
        trained, shaped = result
        self.add_shapes(thing, shaped, first, "corrective")
        errors = shaped.metrics["clips"][0]
        self.warn([*trained.notes, *shaped.notes])
        store(thing, self.bl_label, {**trained.metrics, "shape_rms_error": errors["rms_error"]})
        self.report({"INFO"}, f"RMS error {trained.metrics['rms_error']:.3g}, linear skin {trained.metrics['linear_rms_error']:.3g}")


class DERMIS_OT_volume(CorrectiveOperator, bpy.types.Operator):
    """Keep the volume of the active mesh: with shape keys if it is rigged, otherwise as a cached copy"""

    bl_idname = "dermis.keep_volume"
    bl_label = "Keep Volume"
    bl_options = {"REGISTER", "UNDO"}

    cap: BoolProperty(name="Close Holes", description="Close holes virtually, for the computation of the volume", default=False)  # type: ignore[valid-type]
    folder: StringProperty(name="Cache", subtype="DIR_PATH", description="Folder of the point cache of meshes without a rig")  # type: ignore[valid-type]

    def prepare(self, context: bpy.types.Context) -> tuple[Any, ...]:
        thing = context.active_object
        first, last = self.range(context)
        if armature_modifier(thing) is not None:
            return thing, first, self.scene_of(context, sample_rig(context, thing, first, last)), True
        sampled = sample(context, thing, first, last)
        return thing, first, dermis.MeshSequence(sampled.faces, sampled.frames, fps=sampled.fps), False

    def compute(self, prepared: tuple[Any, ...], progress: Progress) -> tuple[dermis.Model, Any]:
        kept = dermis.keep_volume(prepared[2], cap=self.cap, progress=progress)
        return kept, dermis.corrective_shapes(kept, count=self.shapes) if prepared[3] else kept.sequence()

    def build(self, context: bpy.types.Context, prepared: tuple[Any, ...], result: tuple[dermis.Model, Any]) -> None:
        thing, first, _, is_rigged = prepared
        kept, output = result
        if is_rigged:
            self.add_shapes(thing, output, first, "volume")
        else:
            thing = build_cached(context, thing, f"{thing.name} volume", output, first, cache_folder(self.folder))
            activate(context, thing)
        store(thing, self.bl_label, kept.metrics)
        self.warn(kept.notes)
        before, after = 100 * kept.metrics["drift_before"], 100 * kept.metrics["drift_after"]
        self.report({"INFO"}, f"the volume drifted by up to {before:.2f} %; now {after:.2g} %")


class DERMIS_OT_wrinkle(AnimationOperator, bpy.types.Operator):
    """Add wrinkles to the compressed regions of the active cloth, as a refined cached copy"""

    bl_idname = "dermis.wrinkle"
    bl_label = "Wrinkle"
    bl_options = {"REGISTER", "UNDO"}

    subdivide: IntProperty(name="Subdivide", description="Number of times that triangles are divided into four", default=2, min=0, max=4)  # type: ignore[valid-type]
    threshold: FloatProperty(name="Threshold", description="Compression from which the cloth wrinkles", default=dermis.defaults()["wrinkle"]["threshold"], min=0.0, max=1.0)  # type: ignore[valid-type]
    folder: StringProperty(name="Cache", subtype="DIR_PATH", description="Folder of the point cache")  # type: ignore[valid-type]
    hide_original: BoolProperty(name="Hide Original", default=True)  # type: ignore[valid-type]

    def prepare(self, context: bpy.types.Context) -> tuple[Any, ...]:
        thing = context.active_object
        first, last = self.range(context)
        sampled = sample(context, thing, first, last)
        return thing, first, dermis.MeshSequence(sampled.faces, sampled.frames, fps=sampled.fps)

    def compute(self, prepared: tuple[Any, ...], progress: Progress) -> tuple[dermis.Model, dermis.MeshSequence]:
        folded = dermis.wrinkle(prepared[2], subdivide=self.subdivide, threshold=self.threshold, progress=progress)
        return folded, folded.sequence()

    def build(self, context: bpy.types.Context, prepared: tuple[Any, ...], result: tuple[dermis.Model, Any]) -> None:
        source, first, _ = prepared
        folded, sequence = result
        thing = build_cached(context, source, f"{source.name} wrinkled", sequence, first, cache_folder(self.folder))
        lost = {name: max(folded.metrics[name]) for name in ("area_lost_before", "area_lost_after")}
        store(thing, self.bl_label, {**folded.metrics, **lost})
        self.warn(folded.notes)
        if source.data.uv_layers:
            self.warn(["the refined mesh has no UV maps: use the modifier Data Transfer"])
        if self.hide_original:
            source.hide_set(True)
            source.hide_render = True
        activate(context, thing)


def cache_folder(wanted: str) -> Path:
    """Folder of point caches: the given one, one next to the .blend file, or a temporary one."""
    if wanted:
        return Path(bpy.path.abspath(wanted))
    if bpy.data.filepath:
        return Path(bpy.path.abspath("//")) / CACHE_FOLDER
    raise SceneError("save the .blend file first, or select a folder for the point cache")


CLASSES = (DERMIS_OT_bake, DERMIS_OT_train, DERMIS_OT_volume, DERMIS_OT_wrinkle)
