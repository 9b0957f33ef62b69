"""Plays GLB files written by dermis in Godot 3 without a display, and compares the positions with those of dermis.

    python check_godot.py [--dermis PROGRAM] [--work FOLDER]

Needs numpy and Debian's package godot3-server. The editor imports the files; `play.gd` poses vertices with the skeleton,
the skin and the animation player of Godot. Three vertices at three times differ by at most 1e-4 of the diagonal.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
TOLERANCE = 1e-4
# Name, command of dermis without its output, clip.
CASES = [
    ("hand", ["convert", "sample:hand"], "wave"),
    ("arm", ["convert", "sample:arm"], None),
    ("rigid", ["skin", "sample:gallop", "--bones", "8", "--refine", "1", "--bone-model", "rigid", "--rank", "0"], None),
    ("flexible", ["skin", "sample:gallop", "--bones", "8", "--refine", "1", "--rank", "0"], None),
]
IMPORT_SECONDS = 240
# By default Godot drops keys of animations within an angle of 0.05, and compresses meshes.
IMPORT = """[remap]
importer="scene"
type="PackedScene"

[params]
animation/import=true
animation/fps=60
animation/optimizer/enabled=false
animation/optimizer/remove_unused_tracks=false
meshes/compress=false
meshes/ensure_tangents=false
"""


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--dermis", type=Path, default=HERE.parents[1] / "target/debug/dermis")
    arguments.add_argument("--work", type=Path, default=HERE.parents[1] / "target/engines/godot")
    options = arguments.parse_args()
    if not shutil.which("godot3-server"):
        print("skipped: godot3-server is not installed")
        return 0
    shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True)
    (options.work / "project.godot").write_text('config_version=4\n[application]\nconfig/name="dermis"\n')
    shutil.copy(HERE / "play.gd", options.work)
    for name, command, _ in CASES:
        output = [options.work / f"{name}.glb"] if command[0] == "convert" else ["-o", options.work / f"{name}.glb"]
        subprocess.run([options.dermis, *command, *output, "-q"], check=True)
        (options.work / f"{name}.glb.import").write_text(IMPORT)
    import_all(options.work)
    failed = False
    for name, _, clip in CASES:
        error = largest_error(options, name, clip)
        failed |= not error <= TOLERANCE
        print(f"{name:10} {error:.1e} of the diagonal{'' if error <= TOLERANCE else '  TOO LARGE'}")
    return 1 if failed else 0


def import_all(work):
    """Runs the editor until it has imported all files; it does not exit by itself."""
    editor = subprocess.Popen(["godot3-server", "--path", work, "--editor"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + IMPORT_SECONDS
    try:
        while len(list(work.glob(".import/*.md5"))) < len(CASES):
            if time.monotonic() > deadline or editor.poll() is not None:
                raise SystemExit("Godot did not import the files")
            time.sleep(0.5)
    finally:
        editor.kill()
        editor.wait()


def largest_error(options, name, clip):
    """Largest distance of three vertices at three times, relative to the diagonal of the rest pose."""
    glb, npz = options.work / f"{name}.glb", options.work / f"{name}.npz"
    chosen = ["--clip", clip] if clip else []
    subprocess.run([options.dermis, "pose", glb, *chosen, "-o", npz, "-q"], check=True)
    arrays = np.load(npz)
    frames, points, fps = arrays["frames"], arrays["vertex_points"], float(arrays["fps"])
    chosen_frames = [0, len(frames) // 3, 2 * len(frames) // 3]
    vertices = [0, len(points) // 3, 2 * len(points) // 3]
    start = float(arrays["start_seconds"])
    job = {
        "file": f"res://{name}.glb",
        "clip": clip,
        "vertices": vertices,
        "times": [start + frame / fps for frame in chosen_frames],
    }
    command = ["godot3-server", "--path", options.work, "-s", "play.gd", "--job", json.dumps(job)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    line = re.search(r"^positions (.*)$", done.stdout, re.MULTILINE)
    if not line:
        raise SystemExit(f"Godot printed no positions of {name}: {done.stdout[-500:]} {done.stderr[-500:]}")
    found = np.array(json.loads(line[1]))
    expected = frames[chosen_frames][:, points[vertices]]
    diagonal = np.linalg.norm(np.ptp(arrays["rest"], axis=0))
    return float(np.linalg.norm(found - expected, axis=2).max() / diagonal)


if __name__ == "__main__":
    sys.exit(main())
