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

from played import GENERATED, compare

HERE = Path(__file__).parent
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
    for case in GENERATED:
        case.write(options.dermis, options.work)
        (options.work / f"{case.name}.glb.import").write_text(IMPORT)
    import_all(options.work)
    return compare(GENERATED, lambda case: play(options, case))


def import_all(work):
    """Runs the editor until it has imported all files; it does not exit by itself."""
    editor = subprocess.Popen(["godot3-server", "--path", work, "--editor"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + IMPORT_SECONDS
    try:
        while len(list(work.glob(".import/*.md5"))) < len(GENERATED):
            if time.monotonic() > deadline or editor.poll() is not None:
                raise SystemExit("Godot did not import the files")
            time.sleep(0.5)
    finally:
        editor.kill()
        editor.wait()


def play(options, case):
    """Positions found by Godot, positions of dermis, and the diagonal."""
    vertices, times, expected, diagonal = case.expect(options.dermis, options.work)
    job = {"file": f"res://{case.name}.glb", "clip": case.clip, "vertices": vertices, "times": times}
    command = ["godot3-server", "--path", options.work, "-s", "play.gd", "--job", json.dumps(job)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    line = re.search(r"^positions (.*)$", done.stdout, re.MULTILINE)
    if not line:
        raise SystemExit(f"Godot printed no positions of {case.name}: {done.stdout[-500:]} {done.stderr[-500:]}")
    return json.loads(line[1]), expected, diagonal


if __name__ == "__main__":
    sys.exit(main())
