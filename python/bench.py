"""Compares the time of a fit from Python with that of the command line, alternately in one run.

    python bench.py --dermis PROGRAM [--input FILE] [--bones N] [--runs N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import dermis

# Overhead that is permitted, as a fraction.
MAX_OVERHEAD = 0.03


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dermis", type=Path, required=True, help="program to compare with")
    parser.add_argument("--input", default="sample:gallop", help="file with a mesh sequence")
    parser.add_argument("--bones", type=int, default=20)
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    walk = dermis.load(arguments.input).sequence()
    program, python = [], []
    with tempfile.TemporaryDirectory() as folder:
        for run in range(arguments.runs):
            command = [arguments.dermis, "skin", arguments.input, "--bones", str(arguments.bones)]
            command += ["--format", "json", "--quiet", "-o", f"{folder}/{run}.glb"]
            answer = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
            program.append(fit_seconds(answer))
            start = time.perf_counter()
            skin = dermis.fit_skin(walk, bones=arguments.bones)
            python.append(time.perf_counter() - start)
            print(f"command line {program[-1]:.3f} s, Python {python[-1]:.3f} s", flush=True)
    assert skin.bone_count == arguments.bones
    overhead = min(python) / min(program) - 1
    medians = statistics.median(python) / statistics.median(program) - 1
    print(f"overhead of Python: {100 * overhead:+.1f} % (fastest runs), {100 * medians:+.1f} % (medians)")
    return 0 if overhead < MAX_OVERHEAD else 1


def fit_seconds(answer: dict) -> float:
    """Time of the fit in the summary of `dermis skin`, without reading and writing."""
    seconds = answer["seconds"]
    return sum(value for stage, value in seconds.items() if stage not in ("read", "write", "total"))


if __name__ == "__main__":
    raise SystemExit(main())
