"""FBX files written by dermis have the same positions in three.js, Blender and assimp, at every key of every take."""

import json
import os
import shutil
import subprocess

import numpy as np
from bench import HERE, Failed

LIMIT = 1e-5
# three.js evaluates four influences per point, and does not handle keys before the time 0.
NOT_FOR_THREE = {"eight_influences", "odd_rate_negative_start"}


def run(bench):
    if not bench.wants("FBX suite"):
        return
    folder = bench.work / "fbx"
    folder.mkdir(parents=True, exist_ok=True)
    motions = [(case, motion) for case in suite(folder) for motion in case["motions"]]
    three(bench, folder, motions)
    blender(bench, folder, motions)
    assimp(bench, folder, motions)


def suite(folder):
    """The scenes of `crates/dermis-io/tests/fbx_suite`, written by that test, with the expected positions."""
    command = ["cargo", "test", "-p", "dermis-io", "--test", "fbx_written", "--", "--ignored", "writes_the_suite"]
    environment = {**os.environ, "DERMIS_FBX_SUITE": str(folder)}
    run = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, timeout=1800)
    if run.returncode:
        raise Failed(f"the suite could not be written: {run.stderr.strip()[-500:]}")
    return json.loads((folder / "suite.json").read_text())


def three(bench, folder, motions):
    motions = [(case, motion) for case, motion in motions if case["name"] not in NOT_FOR_THREE]
    jobs = []
    for number, (case, motion) in enumerate(motions):
        out = folder / f"{number}.three.npy"
        jobs.append({**job(folder, case, motion), "times": motion["seconds"], "out": out})
    for (case, motion), at, answer in zip(motions, jobs, bench.three_fbx(jobs)):
        judge(bench, folder, "three.js", case, motion, answer, lambda: np.load(at["out"]))


def blender(bench, folder, motions):
    jobs = []
    for number, (case, motion) in enumerate(motions):
        steps = np.diff(motion["seconds"])
        more = {"fps": 1.0 / steps.mean() if len(steps) else 24.0, "up": case["up"], "metres_per_unit": case["metres_per_unit"]}
        more["out"] = folder / f"{number}.blender.npz"
        jobs.append({**job(folder, case, motion), "seconds": motion["seconds"], **more})
    for (case, motion), at, answer in zip(motions, jobs, bench.blender(jobs)):
        judge(bench, folder, "Blender", case, motion, answer, lambda: np.load(at["out"])["points"])


def assimp(bench, folder, motions):
    if not shutil.which("cc"):
        bench.skip("assimp", "no C compiler is installed")
        return
    program = folder / "assimp_points"
    built = subprocess.run(
        ["cc", "-O1", HERE / "assimp_points.c", "-lassimp", "-lm", "-o", program], capture_output=True, text=True
    )
    if built.returncode:
        bench.skip("assimp", "libassimp-dev is not installed")
        return
    for case, motion in motions:
        out = folder / "assimp.bin"
        times = [repr(seconds) for seconds in motion["seconds"]]
        command = [program, folder / case["file"], motion["mesh"], motion["clip"] or "-", out, *times]
        run = subprocess.run(command, capture_output=True, text=True)
        answer = {"error": run.stderr.strip()} if run.returncode else {}
        read = lambda: np.fromfile(out, dtype="<f8").reshape(len(times), -1, 3)
        judge(bench, folder, "assimp", case, motion, answer, read)


def job(folder, case, motion):
    return {"file": folder / case["file"], "mesh": motion["mesh"], "clip": motion["clip"]}


def judge(bench, folder, client, case, motion, answer, positions):
    name = " ".join(filter(None, [f"{client}:", case["name"], motion["mesh"], motion["clip"]]))
    if "error" in answer:
        bench.record(name, False, answer["error"])
        return
    expected = np.fromfile(folder / motion["file"], dtype="<f4").reshape(len(motion["seconds"]), motion["points"], 3)
    bench.within(name, farthest(expected, positions(), motion["faces"]) / motion["box"], LIMIT)


def farthest(expected, found, faces):
    """Largest distance between a client's vertices and the points. Clients split and order vertices differently: each
    vertex is matched to the point that is nearest in all frames, and every point of a face must have a vertex."""
    apart = np.linalg.norm(expected[:, None] - found[:, :, None], axis=-1).max(axis=0)
    missing = set(np.ravel(faces)) - set(apart.argmin(axis=1))
    return float("inf") if missing else float(apart.min(axis=1).max())
