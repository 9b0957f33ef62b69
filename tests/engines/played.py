"""GLB files of dermis and the positions that an engine must show: three vertices at three times.

Shared by check_godot.py and check_bevy.py. Errors are fractions of the diagonal of the rest pose.
"""

import subprocess

import numpy as np

TOLERANCE = 1e-4
TO_Y_UP = {"Y": np.eye(3), "Z": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])}
FIT = ["skin", "sample:gallop", "--bones", "8", "--refine", "1"]


class Case:
    """A command of dermis without its output, and the clip and mesh to compare; None is the only mesh and the first clip."""

    def __init__(self, name, command, clip=None, mesh=None):
        self.name = name
        self.command = command
        self.clip = clip
        self.mesh = mesh

    def write(self, dermis, work):
        """Writes the GLB file."""
        glb = work / f"{self.name}.glb"
        output = [glb] if self.command[0] == "convert" else ["-o", glb]
        subprocess.run([dermis, *self.command, *output, "-q"], check=True)

    def expect(self, dermis, work):
        """Evaluates the file with dermis: vertices, times in seconds, positions [times][vertices][3] and the diagonal."""
        npz = work / f"{self.name}.npz"
        chosen = ["--clip", self.clip] if self.clip else []
        chosen += ["--mesh", self.mesh] if self.mesh else []
        subprocess.run([dermis, "pose", work / f"{self.name}.glb", *chosen, "-o", npz, "-q"], check=True)
        arrays = np.load(npz)
        frames, points, fps = arrays["frames"], arrays["vertex_points"], float(arrays["fps"])
        start = float(arrays["start_seconds"])
        keys = [0, len(frames) // 3, 2 * len(frames) // 3]
        vertices = [0, len(points) // 3, 2 * len(points) // 3]
        # glTF is in metres with Y up; dermis restores the units and axes of the source.
        metres = float(arrays["metres_per_unit"])
        positions = metres * frames[keys][:, points[vertices]] @ TO_Y_UP[str(arrays["up_axis"])].T
        diagonal = metres * np.linalg.norm(np.ptp(arrays["rest"], axis=0))
        return vertices, [start + key / fps for key in keys], positions, diagonal


GENERATED = [
    Case("hand", ["convert", "sample:hand"], clip="wave"),
    Case("arm", ["convert", "sample:arm"]),
    Case("rigid", [*FIT, "--bone-model", "rigid", "--rank", "0"]),
    Case("flexible", [*FIT, "--rank", "0"]),
]


def compare(cases, play):
    """Prints the error of each case and returns the exit code. `play(case)` returns the found and expected positions and the diagonal."""
    failed = False
    for case in cases:
        found, expected, diagonal = play(case)
        error = float(np.linalg.norm(np.array(found) - expected, axis=2).max() / diagonal)
        # A NaN is not within the tolerance.
        passed = error <= TOLERANCE
        failed |= not passed
        print(f"{case.name:10} {error:.1e} of the diagonal{'' if passed else '  TOO LARGE'}")
    return 1 if failed else 0
