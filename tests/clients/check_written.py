"""Files written by dermis are valid, and clients read the same positions from them as dermis."""

import numpy as np
from bench import Failed, Sequence, largest_distance

# A rig can have recorded frames that it only approximates; glTF and USD store the rig, Alembic the frames.
LIMIT = 1e-5

SAMPLES = ["gallop", "arm", "hand", "flag", "towel"]
FILES = [
    "rigs/CesiumMan.glb",
    "rigs/Fox.glb",
    "rigs/RiggedSimple.glb",
    "rigs/horse-animations.glb",
    "rigs/model-horse.glb",
    "rigs/dembones_bone_skeleton.npz",
    "rigs/derived_mpfb_poses.npz",
    "rigs/gt_cheburashka.npz",
    "rigs/gt_cylinder.npz",
    "sequences/horse-gallop.npz",
    "sequences/cat-poses.npz",
    "sequences/pdance.npz",
    "sequences/dembones_bone.npz",
    "sequences/pbd_spot.npz",
    "sequences/three_Horse.npz",
    "sequences/vto_tshirt_shape00_108_12.npz",
    "formats/Horse.glb",
    "formats/Flamingo.glb",
    "formats/AnimatedMorphSphere.glb",
    "formats/MorphStressTest.glb",
    "formats/Bone_All.fbx",
    "formats/Bone_Anim.abc",
    "formats/Cloth-10frames.abc",
    "formats/RiggedFigure.usdz",
    "bodies/human_man.obj",
    "bodies/mpfb_game_engine_smpl_layout.npz",
    "tets/spot.mesh",
]
# The mesh that is compared, for files with several meshes.
MESH_OF = {"Cloth-10frames.abc": "Cloth"}


def run(bench):
    sources = [(f"sample:{name}", f"sample:{name}") for name in SAMPLES]
    for name in FILES:
        path = bench.file(name)
        if path:
            sources.append((path.name, path))
        elif bench.wants(name):
            bench.skip(name, "the file does not exist")
    glb_in_validator_and_three(bench, sources)
    for extension in ["usda", "usdc", "usdz"]:
        usd_in_openusd(bench, sources, extension)
    abc_in_blender(bench, sources)


def glb_in_validator_and_three(bench, sources):
    written = write_all(bench, sources, "glb")
    for (name, _, path, _), verdict in zip(written, bench.validator([path for _, _, path, _ in written])):
        clean = verdict.get("errors") == 0 and verdict.get("warnings") == 0
        words = f"{verdict.get('errors')} errors, {verdict.get('warnings')} warnings {verdict.get('messages') or verdict.get('error') or ''}"
        bench.record(f"validator: {name}", clean, words.rstrip())
    jobs = []
    for _, ours, path, moves in written:
        jobs.append({"file": path, "clip": 0 if moves else None, "times": ours.times, "out": path.with_suffix(".npy")})
    for (name, ours, path, _), answer in zip(written, bench.three(jobs)):
        if "error" in answer:
            bench.record(f"three.js: {name}", False, answer["error"])
            continue
        expected = ours.posed(influences=4)[:, ours.faces.ravel()]
        # glTF is in metres.
        theirs = np.load(path.with_suffix(".npy")) / ours.metres_per_unit
        bench.within(f"three.js: {name}", largest_distance(expected, theirs, ours.box), LIMIT)


def usd_in_openusd(bench, sources, extension):
    written = write_all(bench, sources, extension)
    jobs = []
    for _, ours, path, _ in written:
        # The binary crate has the same contents as the text.
        same_as = path.with_suffix(".usda") if extension == "usdc" and path.with_suffix(".usda").exists() else None
        jobs.append({"file": path, "seconds": ours.times, "out": path.with_suffix(".usd.npz"), "same_as": same_as})
    for (name, ours, _, _), job, answer in zip(written, jobs, bench.openusd(jobs)):
        if "error" in answer:
            bench.record(f"OpenUSD: {name}", False, answer["error"])
            continue
        complaints = answer["complaints"]
        if job["same_as"]:
            bench.record(f"OpenUSD: {name} as the text", answer["same"], "same layer" if answer["same"] else "other layer")
        bench.record(f"OpenUSD validators: {name}", not complaints, "; ".join(complaints[:3]) or "clean")
        bench.within(f"OpenUSD: {name}", largest_distance(ours.posed(), np.load(job["out"])["points"], ours.box), LIMIT)


def abc_in_blender(bench, sources):
    written = write_all(bench, sources, "abc")
    jobs = [
        {"file": path, "fps": ours.fps, "seconds": ours.times, "out": path.with_suffix(".abc.npz")}
        for _, ours, path, _ in written
    ]
    for (name, ours, _, _), job, answer in zip(written, jobs, bench.blender(jobs)):
        if "error" in answer:
            bench.record(f"Blender: {name}", False, answer["error"])
            continue
        bench.within(f"Blender: {name}", largest_distance(ours.frames, np.load(job["out"])["points"], ours.box), LIMIT)


def write_all(bench, sources, extension):
    """(name, sequence that dermis reads from the source, file written from it, whether it moves) for each source."""
    written = []
    for label, source in sources:
        name = f"{label} → {extension}"
        if not bench.wants(name):
            continue
        stem = f"written/{label.replace(':', '-').replace('.', '-')}"
        options = ["--mesh", MESH_OF[label]] if label in MESH_OF else []
        try:
            ours = Sequence(bench.convert(source, f"{stem}.npz", *options))
            path = bench.convert(source, f"{stem}.{extension}", *options)
        except Failed as failure:
            bench.record(name, False, str(failure))
            continue
        written.append((name, ours, path, len(ours.frames) > 1))
    return written
