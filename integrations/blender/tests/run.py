"""Tests of the add-on in Blender without a window. The zip file $DERMIS_ADDON is installed as an extension.

    python run.py [WORDS]    runs the tests whose names contain WORDS
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

import bpy
import numpy as np

# Largest distance between Blender and dermis, relative to the diagonal of the bounding box.
TOLERANCE = 1e-4
ADDON = "bl_ext.user_default.dermis"


def install() -> None:
    """Installs and enables the extension with its wheel."""
    bpy.ops.extensions.package_install_files(
        filepath=os.environ["DERMIS_ADDON"], repo="user_default", enable_on_install=True
    )
    if ADDON not in bpy.context.preferences.addons:
        raise RuntimeError("the extension was not enabled")


def fresh(frames: int) -> bpy.types.Scene:
    """An empty scene with this number of frames; the add-on stays enabled."""
    for collection in (bpy.data.objects, bpy.data.meshes, bpy.data.armatures, bpy.data.actions):
        for item in list(collection):
            collection.remove(item)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, frames
    scene.frame_set(1)
    return scene


def select(*things: bpy.types.Object) -> None:
    """Selects objects; the last one becomes active."""
    for other in bpy.data.objects:
        other.select_set(False)
    for thing in things:
        thing.select_set(True)
    bpy.context.view_layer.objects.active = things[-1]


def world_points(thing: bpy.types.Object, frame: int) -> np.ndarray:
    bpy.context.scene.frame_set(frame)
    evaluated = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    flat = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", flat)
    world = np.array(evaluated.matrix_world, dtype=np.float64)
    evaluated.to_mesh_clear()
    return flat.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3]


def frames_of(thing: bpy.types.Object) -> np.ndarray:
    scene = bpy.context.scene
    return np.stack([world_points(thing, frame) for frame in range(scene.frame_start, scene.frame_end + 1)])


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest distance relative to the diagonal of the first expected frame."""
    diagonal = np.linalg.norm(np.ptp(expected[0], axis=0))
    return float(np.linalg.norm(found - expected, axis=-1).max() / diagonal)


def grid(size: int, name: str) -> bpy.types.Object:
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=size, y_subdivisions=size, size=2.0)
    thing = bpy.context.active_object
    thing.name = name
    return thing


def cloth(frames: int) -> bpy.types.Object:
    """A simulated cloth that is pinned at one side and falls."""
    scene = fresh(frames)
    thing = grid(14, "Cloth")
    pinned = thing.vertex_groups.new(name="pinned")
    pinned.add([v.index for v in thing.data.vertices if v.co.y > 0.99], 1.0, "REPLACE")
    modifier = thing.modifiers.new("Cloth", "CLOTH")
    modifier.settings.vertex_group_mass = "pinned"
    modifier.settings.quality = 3
    modifier.point_cache.frame_start, modifier.point_cache.frame_end = 1, frames
    thing.location = (0.5, -1.0, 2.0)
    thing.rotation_euler = (0.2, 0.1, 0.4)
    scene.frame_set(1)
    return thing


def squeezed(frames: int) -> bpy.types.Object:
    """A cloth that is compressed along one axis."""
    fresh(frames)
    thing = grid(14, "Sheet")
    thing.shape_key_add(name="Basis")
    key = thing.shape_key_add(name="squeezed")
    for vertex, point in zip(thing.data.vertices, key.data):
        point.co.x = 0.8 * vertex.co.x
        point.co.z = 0.05 * np.sin(2 * vertex.co.y)
    for frame, value in ((1, 0.0), (frames, 1.0)):
        key.value = value
        key.keyframe_insert("value", frame=frame)
    return thing


def face(frames: int) -> bpy.types.Object:
    """A sphere with animated shape keys, a modifier and a moving object transform."""
    fresh(frames)
    bpy.ops.mesh.primitive_uv_sphere_add(segments=20, ring_count=12)
    thing = bpy.context.active_object
    thing.name = "Face"
    thing.shape_key_add(name="Basis")
    for name, axis in (("smile", 0), ("frown", 2)):
        key = thing.shape_key_add(name=name)
        for vertex, point in zip(thing.data.vertices, key.data):
            point.co[axis] += 0.4 * np.exp(-4 * (vertex.co[1] - 1) ** 2) * vertex.co[axis]
        key.value = 0.0
        key.keyframe_insert("value", frame=1)
        key.value = 1.0
        key.keyframe_insert("value", frame=frames // 2)
        key.value = 0.2
        key.keyframe_insert("value", frame=frames)
    thing.location = (1, 0, 0)
    thing.keyframe_insert("location", frame=1)
    thing.location, thing.rotation_euler = (1, 2, 0.5), (0, 0, 0.9)
    thing.keyframe_insert("location", frame=frames)
    thing.modifiers.new("Subdivision", "SUBSURF").levels = 1
    return thing


def arm(frames: int) -> tuple[bpy.types.Object, bpy.types.Object]:
    """A cylinder with two bones that bends; returns (mesh, armature)."""
    fresh(frames)
    bpy.ops.mesh.primitive_cylinder_add(vertices=16, radius=0.3, depth=4.0)
    thing = bpy.context.active_object
    thing.name = "Arm"
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.subdivide(number_cuts=7)
    bpy.ops.object.mode_set(mode="OBJECT")
    armature = bpy.data.objects.new("Bones", bpy.data.armatures.new("Bones"))
    bpy.context.scene.collection.objects.link(armature)
    select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    upper = armature.data.edit_bones.new("upper")
    upper.head, upper.tail = (0, 0, -2), (0, 0, 0)
    lower = armature.data.edit_bones.new("lower")
    lower.head, lower.tail, lower.parent = (0, 0, 0), (0, 0, 2), upper
    bpy.ops.object.mode_set(mode="OBJECT")
    groups = {name: thing.vertex_groups.new(name=name) for name in ("upper", "lower")}
    for vertex in thing.data.vertices:
        share = float(np.clip(0.5 + vertex.co.z, 0, 1))
        groups["lower"].add([vertex.index], share, "REPLACE")
        groups["upper"].add([vertex.index], 1 - share, "REPLACE")
    thing.modifiers.new("Armature", "ARMATURE").object = armature
    bone = armature.pose.bones["lower"]
    bone.rotation_mode = "XYZ"
    bone.keyframe_insert("rotation_euler", frame=1)
    bone.rotation_euler = (1.6, 0, 0)
    bone.keyframe_insert("rotation_euler", frame=frames)
    return thing, armature


def recorded(name: str) -> list[object]:
    """Results of the function `name` of dermis in the operators from now on."""
    import dermis

    results: list[object] = []
    function = getattr(dermis, name)

    class Recorder:
        def __getattr__(self, other: str) -> object:
            return getattr(dermis, other)

    def record(*args: object, **options: object) -> object:
        results.append(function(*args, **options))
        return results[-1]

    recorder = Recorder()
    setattr(recorder, name, record)
    importlib.import_module(f"{ADDON}.operators").dermis = recorder
    return results


def check_baked(source: bpy.types.Object, expected: np.ndarray, **options: object) -> str:
    """Bakes an object; Blender's evaluation must match that of dermis, and be near the original animation."""
    skins = recorded("fit_skin")
    select(source)
    assert bpy.ops.dermis.bake(**options) == {"FINISHED"}
    skin, baked = skins[-1], bpy.context.active_object
    assert baked != source and baked.modifiers[0].type == "ARMATURE" and source.hide_get()
    found = frames_of(baked)
    evaluated = np.stack([skin.pose(0, frame) for frame in range(len(expected))])
    match, error = relative(found, evaluated), relative(found, expected)
    assert match < TOLERANCE, f"Blender and dermis differ by {match:.2e} of the box"
    assert error < 0.03, f"the bake differs by {error:.2e} from the animation"
    metrics = json.loads(baked["dermis_metrics"])
    assert metrics["bones"] == skin.bone_count and metrics["distortion_percent"] > 0
    title, rows = importlib.import_module(f"{ADDON}.panel").measures(baked)
    assert title == "Bake Animation to Bones" and len(rows) >= 4
    return f"match {match:.1e}, error {error:.1e} of the box, {skin.bone_count} bones, {skin.rank} shape keys"


def test_cloth_becomes_bones_and_shape_keys() -> str:
    source = cloth(24)
    expected = frames_of(source)
    assert np.ptp(expected[:, :, 2]) > 0.5, "the cloth does not fall"
    return check_baked(source, expected, bones=12, corrections=6)


def test_shape_keys_and_modifiers_become_bones() -> str:
    source = face(20)
    result = check_baked(source, frames_of(source), bones=6, corrections=3, bone_model="flexible")
    baked = bpy.context.active_object
    assert len(baked.data.shape_keys.key_blocks) == 4 and len(baked.data.uv_layers) == 1
    return result


def test_rigid_bones_and_skeletons_are_single_bones() -> str:
    results = []
    for options in ({"bone_model": "rigid"}, {"bone_model": "rigid", "skeleton": "fixed"}, {"bone_model": "scaled"}):
        thing, _ = arm(16)
        results.append(check_baked(thing, frames_of(thing), bones=4, corrections=2, **options))
        rig = bpy.context.active_object.modifiers[0].object
        assert len(rig.data.bones) in (4, 5), len(rig.data.bones)
    return "; ".join(results)


def test_alembic_caches_are_baked() -> str:
    source = face(12)
    select(source)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "face.abc")
        bpy.ops.wm.alembic_export(filepath=path, selected=True, start=1, end=12, as_background_job=False)
        fresh(12)
        bpy.ops.wm.alembic_import(filepath=path, as_background_job=False)
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 12
        cached = next(thing for thing in bpy.data.objects if thing.type == "MESH")
        assert any(modifier.type == "MESH_SEQUENCE_CACHE" for modifier in cached.modifiers)
        return check_baked(cached, frames_of(cached), bones=6, corrections=3)


def test_a_bake_can_be_undone() -> str:
    source = face(8)
    select(source)
    before = {thing.name for thing in bpy.data.objects}
    bpy.ops.ed.undo_push(message="before")
    assert bpy.ops.dermis.bake(bones=3, corrections=1) == {"FINISHED"}
    bpy.ops.ed.undo_push(message="bake")
    assert len(bpy.data.objects) == len(before) + 2
    bpy.ops.ed.undo()
    assert {thing.name for thing in bpy.data.objects} == before
    assert "UNDO" in bpy.types.DERMIS_OT_bake.bl_options
    return "the armature and the mesh are removed"


def test_corrective_skins_are_trained_from_examples() -> str:
    thing, armature = arm(12)
    examples = thing.copy()
    examples.data = thing.data.copy()
    examples.name = "Examples"
    bpy.context.scene.collection.objects.link(examples)
    # The examples bulge near the elbow in the plane of its rotation, in addition to the linear skin.
    examples.shape_key_add(name="Basis")
    bulge = examples.shape_key_add(name="bulge")
    for vertex, point in zip(examples.data.vertices, bulge.data):
        point.co.y -= 0.15 * np.exp(-2 * vertex.co.z**2)
    for frame in range(1, 13):
        bpy.context.scene.frame_set(frame)
        bulge.value = np.sin(armature.pose.bones["lower"].rotation_euler[0])
        bulge.keyframe_insert("value", frame=frame)
    wanted, before = frames_of(examples), frames_of(thing)
    select(examples, thing)
    assert bpy.ops.dermis.train_corrective(shapes=4) == {"FINISHED"}
    after = frames_of(thing)
    first, second = relative(before, wanted), relative(after, wanted)
    assert second < 0.25 * first, f"{first:.2e} before, {second:.2e} after"
    assert len(thing.data.shape_keys.key_blocks) > 1
    return f"distance to the examples {first:.1e} before, {second:.1e} after"


def test_volume_is_kept_with_shape_keys() -> str:
    thing, _ = arm(12)
    bpy.context.scene.frame_set(1)
    kept = recorded("keep_volume")
    select(thing)
    assert bpy.ops.dermis.keep_volume(shapes=8) == {"FINISHED"}
    found, expected = frames_of(thing), np.asarray(kept[0].sequence().frames)
    error = relative(found, expected)
    assert error < 2e-3, error
    metrics = json.loads(thing["dermis_metrics"])
    assert metrics["drift_after"] < 1e-6 < metrics["drift_before"]
    return f"distance to the layer {error:.1e} of the box, drift before {metrics['drift_before']:.1e}"


def test_volume_of_meshes_without_a_rig_is_cached() -> str:
    source = face(8)
    results = recorded("keep_volume")
    select(source)
    with tempfile.TemporaryDirectory() as folder:
        assert bpy.ops.dermis.keep_volume(folder=folder) == {"FINISHED"}
        kept = bpy.context.active_object
        assert kept != source and kept.modifiers[0].type == "MESH_CACHE"
        frames = frames_of(kept)
        assert relative(frames, np.asarray(results[0].sequence().frames)) < TOLERANCE
        return f"{frames.shape[1]} points, drift after {json.loads(kept['dermis_metrics'])['drift_after']:.1e}"


def test_cloth_is_wrinkled() -> str:
    source = squeezed(8)
    count = len(source.data.vertices)
    folded = recorded("wrinkle")
    select(source)
    with tempfile.TemporaryDirectory() as folder:
        assert bpy.ops.dermis.wrinkle(folder=folder, subdivide=1) == {"FINISHED"}
        thing = bpy.context.active_object
        found, expected = frames_of(thing), np.asarray(folded[0].sequence().frames)
    assert thing != source and source.hide_get()
    assert len(thing.data.vertices) > 3 * count, f"{count} points become {len(thing.data.vertices)}"
    match = relative(found, expected)
    assert match < TOLERANCE, match
    return f"{count} points become {len(thing.data.vertices)}, match {match:.1e} of the box"


def test_work_can_be_cancelled() -> str:
    work = importlib.import_module(f"{ADDON}.work")
    import dermis

    walk = dermis.load("sample:gallop").sequence()
    job = work.Job(lambda progress: dermis.fit_skin(walk, bones=40, refine=10_000, progress=progress))
    job.start()
    while not job.stage:
        time.sleep(0.01)
    start = time.perf_counter()
    job.cancel()
    while job.is_running:
        time.sleep(0.01)
    seconds = time.perf_counter() - start
    assert isinstance(job.error, work.Cancelled), job.error
    assert seconds < 30, seconds
    return f"cancelled in {seconds:.2f} s"


def rejected(operator: object, message: str, **options: object) -> None:
    try:
        operator(**options)
    except RuntimeError as error:
        assert message in str(error), str(error)
    else:
        raise AssertionError(f"not rejected: {message}")


def test_unsuitable_selections_are_rejected() -> str:
    source = face(8)
    select(source)
    rejected(bpy.ops.dermis.bake, "fewer than two frames", start=4, end=4)
    rejected(bpy.ops.dermis.train_corrective, "example shapes")
    rejected(bpy.ops.dermis.wrinkle, "save the .blend file first")
    thing, _ = arm(8)
    other = grid(4, "Other")
    select(other, thing)
    rejected(bpy.ops.dermis.train_corrective, "points, but")
    thing.modifiers[0].use_deform_preserve_volume = True
    select(thing)
    rejected(bpy.ops.dermis.keep_volume, "Preserve Volume")
    thing.modifiers[0].use_deform_preserve_volume = False
    build = thing.modifiers.new("Build", "BUILD")
    build.frame_start, build.frame_duration = 1, 8
    thing.modifiers.remove(thing.modifiers[0])
    rejected(bpy.ops.dermis.bake, "topology")
    bpy.context.view_layer.objects.active = None
    assert not bpy.ops.dermis.bake.poll()
    return "7 cases"


def main() -> int:
    words = " ".join(sys.argv[1:])
    install()
    failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_") or words not in name:
            continue
        start = time.monotonic()
        try:
            result = test()
        except Exception:
            failed += 1
            result = f"FAILED\n{traceback.format_exc()}"
        print(f"{name}: {result} ({time.monotonic() - start:.1f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
