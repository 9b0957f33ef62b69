"""Fits the same sequence with Dem Bones and with dermis, and prints both errors, both times and their ratios.

    python bench_dembones.py [SEQUENCE.npz] [--dermis PROGRAM] [--bones 20] [--runs 3] [--threads N]

SEQUENCE.npz contains `rest`, `frames` and triangles `faces`, as written by dermis; the default is sample:gallop.
Dem Bones runs with its default options and 4 influences, as dermis does (its package offers 4 or 8), in a separate process
and in the environment target/dembones-venv, which is created on the first run. Times are those of the fits alone, without
reading and measuring. The programs run alternately, and their fastest runs are compared. Threads of Dem Bones spin while
they wait, so other work on the machine slows it down more than dermis; use `--threads 1` for a fair comparison then.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / "target/dembones-venv"
REQUIREMENTS = ["py-dem-bones==0.13.1", "numpy"]
# Stages of `dermis skin` that are not part of the fit.
OTHER_STAGES = ["read", "measure", "write", "total"]

# Runs in the environment of Dem Bones. E = 100 ‖P − P̃‖ / ‖P − P̄‖ with the mean P̄ of each point over time.
FIT = """
import json, sys, time
import numpy as np
from py_dem_bones import DemBonesWrapper
arrays = np.load(sys.argv[1])
rest, frames = (arrays[name].astype(np.float64) for name in ("rest", "frames"))
solver = DemBonesWrapper()
solver.max_influences = 4
solver.set_mesh_sequence(rest, frames, bone_count=int(sys.argv[2]), faces=arrays["faces"])
start = time.perf_counter()
solver.compute()
seconds = time.perf_counter() - start
result = solver.get_skinning_result()
points = np.concatenate([rest, np.ones((len(rest), 1))], axis=1)
posed = np.einsum("bn,sbij,nj->sni", result.weights, result.transforms[:, :, :3], points, optimize=True)
error = 100 * np.linalg.norm(frames - posed) / np.linalg.norm(frames - frames.mean(axis=0))
influences = int((result.weights > 0).sum(axis=0).max())
print(json.dumps({"bones": len(result.weights), "influences": influences, "error": error, "seconds": seconds}))
"""


def main():
    arguments = parse()
    python = python_of_dem_bones()
    with tempfile.TemporaryDirectory() as folder:
        source = arguments.sequence or sample(arguments.dermis, Path(folder))
        theirs, ours = [], []
        for _ in range(arguments.runs):
            theirs.append(dem_bones(python, source, arguments.bones, arguments.threads))
            ours.append(dermis(arguments.dermis, source, arguments.bones, arguments.threads))
            print(f"  Dem Bones {words(theirs[-1])}   dermis {words(ours[-1])}", flush=True)
    their, our = (min(fits, key=lambda fit: fit["seconds"]) for fits in (theirs, ours))
    asked = f"{arguments.bones} bones requested, {arguments.threads} threads"
    print(f"{source.name}, {asked}, fastest of {arguments.runs} runs each")
    for name, fit in [("Dem Bones", their), ("dermis", our)]:
        print(f"{name:<10} {words(fit)}, {fit['bones']} bones, at most {fit['influences']} influences")
    print(f"{'ratio':<10} error {our['error'] / their['error']:.3f}, time 1/{their['seconds'] / our['seconds']:.1f}")


def parse():
    parser = argparse.ArgumentParser(description="Fits one sequence with Dem Bones and with dermis.")
    parser.add_argument("sequence", type=Path, nargs="?", help="the sequence [default: sample:gallop]")
    parser.add_argument("--dermis", type=Path, default=ROOT / "target/release/dermis", help="the program, optimized")
    parser.add_argument("--bones", type=int, default=20)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    return parser.parse_args()


def python_of_dem_bones():
    """The Python interpreter of Dem Bones' environment, which is created if it does not exist."""
    python = ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    installed = ENVIRONMENT / "installed"
    if not installed.exists() or installed.read_text() != "\n".join(REQUIREMENTS):
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
        quiet = ["--quiet", "--disable-pip-version-check"]
        subprocess.run([python, "-m", "pip", "install", *quiet, *REQUIREMENTS], check=True)
        installed.write_text("\n".join(REQUIREMENTS))
    return python


def sample(program, folder):
    path = folder / "gallop.npz"
    subprocess.run([program, "convert", "sample:gallop", path, "--quiet"], check=True)
    return path


def dem_bones(python, source, bones, threads):
    return answer([python, "-c", FIT, source, bones], OMP_NUM_THREADS=threads)


def dermis(program, source, bones, threads):
    options = ["--bones", bones, "--threads", threads, "--format", "json", "--quiet"]
    report = answer([program, "skin", source, *options])
    seconds = sum(seconds for stage, seconds in report["seconds"].items() if stage not in OTHER_STAGES)
    return {
        "bones": report["bones"],
        "influences": report["influences"],
        "error": report["distortion_percent"],
        "seconds": seconds,
    }


def answer(command, **environment):
    """The last line that a program prints; earlier lines can be progress."""
    variables = os.environ | {name: str(value) for name, value in environment.items()}
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=variables)
    if run.returncode:
        sys.exit(f"{Path(command[0]).name} failed: {run.stderr.strip()}")
    return json.loads(run.stdout.strip().splitlines()[-1])


def words(fit):
    return f"E {fit['error']:.3f} % in {fit['seconds']:.2f} s"


if __name__ == "__main__":
    main()
