"""Functions on models: packing, edits, poses, contacts, light, pictures, rigs and bodies."""

from __future__ import annotations

import os

import numpy as np
import pytest

import dermis


def test_packed_files_are_within_their_budget(skin, tmp_path):
    packed = dermis.pack(skin, error=1)
    assert packed.metrics["distortion_percent"] <= 1 and len(packed.glb) == packed.metrics["packed_bytes"]
    assert packed.metrics["packed_bytes"] < 0.5 * packed.metrics["unpacked_bytes"]
    packed.save(tmp_path / "packed.glb")
    assert (tmp_path / "packed.glb").read_bytes() == packed.glb
    assert len(dermis.load(tmp_path / "packed.glb").sequence()) == len(skin.transforms())
    with pytest.raises(dermis.InputError, match="exclude"):
        dermis.pack(skin, error=1, size=1000)
    with pytest.raises(dermis.Error, match="glb"):
        packed.save(tmp_path / "packed.obj")


def test_edits_of_the_rest_pose_are_followed(skin):
    wider = dermis.edit(skin, skin.rest * np.float32([1.25, 1, 1]))
    assert wider.metrics["objects"][0]["displaced_points"] > 0
    before, after = np.ptp(skin.pose(0, 5), axis=0), np.ptp(wider.sequence()[5], axis=0)
    assert after.max() > 1.05 * before.max()
    for options in ({}, {"map": "heights.png"}, {"edited": skin.rest, "map": "heights.png", "scale": 1}):
        with pytest.raises(dermis.InputError):
            dermis.edit(skin, **options)
    with pytest.raises(dermis.InputError, match="points"):
        dermis.edit(skin, skin.rest[:-1])
    with pytest.raises(dermis.FileError, match="no-such"):
        dermis.edit(skin, map="no-such.png", scale=0.1)


def test_models_are_posed_and_selected(arm):
    posed = dermis.pose_model(arm, frames="0:6")
    assert len(posed.sequence()) == 6 and posed.metrics["objects"][0]["frames"] == 6
    assert np.allclose(posed.sequence()[3], dermis.pose_model(arm, arm).sequence()[3], atol=1e-4)
    assert len(dermis.select(arm, frames="0:6").sequence()) == 6
    with pytest.raises(dermis.InputError, match="no-such"):
        dermis.select(arm, clip="no-such")
    with pytest.raises(dermis.InputError):
        dermis.select(arm, frames="six")


def test_contacts_are_found(skin):
    apart = dermis.collide(skin, skin, offset=(9, 0, 0))
    assert apart["frames"] == [] and apart["frame_count"] == len(skin.transforms())
    touching = dermis.collide(skin, skin, offset=(0.3, 0, 0))
    assert touching["frames"][0]["contacts"] > 0 and len(touching["frames"][0]["deepest"]["point"]) == 3


def test_light_is_baked(gallop, tmp_path):
    few = dermis.select(gallop, frames="0:2")
    lit = dermis.bake_light(few, rays=16, order=2, rank=2, transfer=tmp_path / "light.npz")
    assert 0 < lit.metrics["mean_ambient"] < 1 and (tmp_path / "light.npz").exists()
    with pytest.raises(dermis.InputError, match="lowest"):
        dermis.bake_light(few, ground="high")
    with pytest.raises(dermis.Error):
        dermis.bake_light(few, order=99)


def test_pictures_are_drawn(gallop, skin, tmp_path):
    picture = dermis.render([gallop, skin], frame=8, look="clay", labels=["a", "b"], width=160, height=60)
    assert picture.pixels.shape == (60, 160, 4) and np.ptp(picture.pixels[..., :3]) > 50
    assert picture._repr_png_().startswith(b"\x89PNG")
    picture.save(tmp_path / "picture.png")
    with pytest.raises(dermis.FileError):
        picture.save(tmp_path / "picture.png")
    error = dermis.render(skin, reference=gallop, look="error", width=64, height=48, backdrop="#204060")
    assert error.pixels.shape == (48, 64, 4)
    for options in ({"look": "pretty"}, {"view": "inside"}, {"backdrop": "plaid"}, {"frame": "last"}, {"labels": ["a", "b"]}):
        with pytest.raises(dermis.InputError):
            dermis.render(skin, **options)


def test_rigs_are_created_from_arrays(arm):
    part = arm.objects[0]
    options = {"bind": part.bind, "parents": part.parents, "joints": part.joints, "transforms": part.transforms()}
    again = dermis.rigged_mesh(part.faces, part.points, weights=part.weights, fps=30, **options)
    linear = dermis.pose_model(arm, base=True).sequence()
    assert np.abs(again.sequence()[7] - linear[7]).max() < 1e-5
    dense = part.weights.toarray() if hasattr(part.weights, "toarray") else part.weights
    bad = [
        {"weights": dense[:, :1]},
        {"bind": part.bind[:, :3]},
        {"parents": [None]},
        {"transforms": part.transforms()[0]},
        {"transforms": part.transforms() + 1},
        {"shapes": np.zeros((1, 3, 3))},
        {"frames": np.zeros((2, 3, 3))},
        {"up": "w"},
        {"parents": list(range(1, len(part.joints))) + [0]},
    ]
    for change in bad:
        with pytest.raises(dermis.InputError):
            dermis.rigged_mesh(part.faces, part.points, **{"weights": dense, **options, **change})


def test_layers_become_corrective_shapes(arm):
    kept = dermis.keep_volume(arm)
    shaped = dermis.corrective_shapes(kept, count=6)
    found = shaped.scene.objects[0]
    assert found.layers == [] and found.basis.shape[0] == 6 and found.coefficients().shape[1] == 6
    errors = shaped.metrics["clips"][0]
    assert errors["rms_error"] < 0.2 * errors["linear_rms_error"]
    with pytest.raises(dermis.Error, match="layers"):
        dermis.corrective_shapes(shaped)


def test_flexible_transforms_are_factored(skin):
    translations, rotations, axes, scales = dermis.factor_transforms(skin.transforms())
    frame, bone = 7, 3

    def matrix(quaternion):
        w, x, y, z = quaternion
        return np.array([
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ])

    r, v = matrix(rotations[frame, bone]), matrix(axes[frame, bone])
    linear = r @ v @ np.diag(scales[frame, bone]) @ v.T
    assert np.allclose(linear, skin.transforms()[frame, bone, :3, :3], atol=1e-6)
    assert np.allclose(translations[frame, bone], skin.transforms()[frame, bone, :3, 3])


def test_existing_rigs_are_fitted(arm):
    motion = arm.sequence()
    skin = dermis.fit_rig(arm, motion, helpers=2, refine=4)
    assert skin.bone_count == len(arm.objects[0].joints) + 2
    assert np.abs(skin.pose(0, 3) - motion[3]).max() < 0.1 * np.ptp(motion[0])
    with pytest.raises(dermis.InputError, match="at least one"):
        dermis.fit_rig(arm, [])


def test_options_of_the_systems_have_effect(arm):
    assert dermis.keep_volume(arm, mode="global", target=1.1).metrics["drift_after"] < 1e-6
    for bad in ({"mode": "maybe"}, {"target": -1}, {"effects": "not toml ["}):
        with pytest.raises(dermis.Error):
            dermis.keep_volume(arm, **bad)
    towel = dermis.select(dermis.load("sample:towel"), frames="0:3")
    coarse = dermis.wrinkle(towel, subdivide=1)
    fine = dermis.wrinkle(towel, subdivide=2)
    assert len(fine.sequence()[0]) > 2 * len(coarse.sequence()[0])
    with pytest.raises(dermis.InputError, match="curves"):
        dermis.wrinkle(towel, folds="paper")


def test_defaults_are_those_of_the_library(arm):
    import inspect

    defaults = dermis.defaults()
    for name, options in defaults.items():
        signature = inspect.signature(getattr(dermis, name))
        for option, value in options.items():
            assert option in signature.parameters, f"{name}: {option}"
            shown = signature.parameters[option]
            assert shown.kind is shown.KEYWORD_ONLY and shown.default == value, f"{name}: {option}"
    assert defaults["make_levels"] == {"ratios": [0.5, 0.25, 0.1], "max_poses": 24}
    levels = dermis.make_levels(arm)
    assert [level["ratio"] for level in levels.metrics["objects"][0]["levels"]] == defaults["make_levels"]["ratios"]


def test_bodies_are_built_and_saved(body, tmp_path):
    body.save(tmp_path / "body.npz")
    again = dermis.build_body(tmp_path / "body.npz")
    assert np.array_equal(again.stiffness, body.stiffness) and again.metrics["fem_elements"] > 0
    stiff = dermis.build_body("sample:body", stiffness=20_000, damping=5.0)
    assert np.all(stiff.stiffness == 20_000) and stiff.metrics["damping_rate_per_s"] == 5
    assert body.points.shape == (len(body.thickness), 3)
    with pytest.raises(dermis.Error):
        dermis.build_body("sample:body", stiffness=[1.0, 2.0])


@pytest.mark.skipif(not os.environ.get("DERMIS_OPTIMIZED"), reason="a fit takes minutes in an unoptimized build")
def test_flesh_is_learned_from_scans(body, tmp_path):
    soft = dermis.build_body("sample:body", stiffness=2000)
    scans = []
    for clip in body.clips[:2]:
        frames = [points for points, _ in zip(dermis.simulate(soft, clip=clip, settle=0.1), range(36))]
        scans.append(dermis.MeshSequence(soft.faces, np.stack(frames), fps=60, name=clip))
    seen: list[str] = []
    fit = dermis.fit_tissue(
        body,
        scans,
        train=[body.clips[0]],
        iterations=1,
        points=6,
        frames=36,
        progress=lambda stage, *_: seen.append(stage),
    )
    assert fit.metrics["iterations"] >= 1 and len(fit.metrics["sequences"]) == 2 and seen
    assert [score["held_out"] for score in fit.metrics["sequences"]] == [False, True]
    assert not np.array_equal(fit.stiffness, body.stiffness)
    scans[0].save(tmp_path / "scan.npz")
    found = dermis.validate_tissue(fit, tmp_path / "scan.npz")
    assert found["sequences"][0]["deviation_fit"] > 0 and found["truth"] is None


def test_scans_that_cannot_be_used_are_rejected(body, tmp_path):
    frames = np.stack([body.points, body.points + np.float32([0, 0.01, 0])] * 8)
    scans = [dermis.MeshSequence(body.faces, frames, fps=60, name="up")]
    with pytest.raises(dermis.Error):
        dermis.fit_tissue(body, scans, train=["no-such"])
    with pytest.raises(dermis.Error):
        dermis.fit_tissue(body, tmp_path / "no-such-folder")
    with pytest.raises(dermis.InputError, match="paper"):
        dermis.fit_tissue(body, scans, method="guess")
    with pytest.raises(dermis.InputError, match="slim"):
        dermis.sample_scans(tmp_path, subject="tall")


def test_fit_beam_reports_missing_arrays(tmp_path):
    np.savez(tmp_path / "beam.npz", rate_hz=100.0)
    with pytest.raises(dermis.FileError, match="density_kg_m3"):
        dermis.fit_beam(tmp_path / "beam.npz")
