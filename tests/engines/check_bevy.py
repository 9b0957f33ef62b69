"""Plays GLB files written by dermis in Bevy without a window, and compares the positions with those of dermis.

    python check_bevy.py [--dermis PROGRAM] [--player PROGRAM] [--work FOLDER] [--data FOLDER]

Needs numpy and the program of `bevy/`, which `check` builds. Three vertices at three times differ by at most 1e-4 of the diagonal.
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

from played import FIT, GENERATED, Case, compare

HERE = Path(__file__).parent
CASES = [
    *GENERATED,
    Case("corrected", [*FIT, "--rank", "2"]),
    Case("engine", [*FIT, "--rank", "2", "--engine", "bevy"]),
]
# Rigs of other programs, if the folder of real files exists.
REAL = [
    ("rigs/CesiumMan.glb", None),
    ("rigs/Fox.glb", "Walk"),
]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--dermis", type=Path, default=HERE.parents[1] / "target/debug/dermis")
    arguments.add_argument("--player", type=Path, default=HERE.parents[1] / "target/engines/bevy-build/debug/bevy-check")
    arguments.add_argument("--work", type=Path, default=HERE.parents[1] / "target/engines/bevy")
    arguments.add_argument("--data", type=Path, default=HERE.parents[2] / "shared/data")
    options = arguments.parse_args()
    cases = list(CASES)
    for name, clip in REAL:
        path = options.data / name
        if path.exists():
            cases.append(Case(path.stem, ["convert", path], clip=clip))
        else:
            print(f"{path.stem:10} skipped: there is no {name}")
    shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True)
    for case in cases:
        case.write(options.dermis, options.work)
    return compare(cases, lambda case: play(options, case))


def play(options, case):
    """Positions found by Bevy, positions of dermis, and the diagonal."""
    vertices, times, expected, diagonal = case.expect(options.dermis, options.work)
    job = {"file": str(options.work / f"{case.name}.glb"), "clip": case.clip, "mesh": case.mesh, "vertices": vertices, "times": times}
    done = subprocess.run([options.player, json.dumps(job)], capture_output=True, text=True, timeout=120, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("positions ")]
    if not lines:
        raise SystemExit(f"Bevy printed no positions of {case.name}: {done.stdout[-500:]} {done.stderr[-500:]}")
    return json.loads(lines[-1].removeprefix("positions ")), expected, diagonal


if __name__ == "__main__":
    sys.exit(main())
