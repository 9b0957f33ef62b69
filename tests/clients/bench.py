"""Environment of the checks: the program under test, its clients, the data and the results."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


class Failed(Exception):
    """A check cannot continue; the message states the reason."""


class Bench:
    def __init__(self, dermis, work, data, only=""):
        self.dermis = dermis
        self.work = work
        self.data = data
        self.only = only
        self.passed = self.failed = self.skipped = 0

    def file(self, name):
        """Path of a real file, or None if the folder of real files does not exist."""
        path = self.data / name
        return path if path.exists() else None

    def real_files(self, prefix, names):
        """Label and path of each requested real file; missing files are reported as skipped."""
        for name in names:
            label = f"{prefix} {name}"
            if not self.wants(label):
                continue
            path = self.file(name)
            if path:
                yield label, path
            else:
                self.skip(label, "the file does not exist")

    def wants(self, name):
        return self.only in name

    def record(self, name, ok, words):
        self.passed += ok
        self.failed += not ok
        print(f"{'ok  ' if ok else 'FAIL'} {name:<58} {words}", flush=True)

    def skip(self, name, why):
        self.skipped += 1
        print(f"skip {name:<58} skipped: {why}", flush=True)

    def within(self, name, error, limit, unit="of the box"):
        # A NaN is not within any limit.
        self.record(name, bool(error <= limit), f"{error:.1e} {unit} (limit {limit:.0e})")

    def convert(self, source, target, *options):
        """Runs `dermis convert` and returns the target."""
        target = self.target(target)
        self.run("convert", source, target, "--force", *options)
        return target

    def skin(self, inputs, target=None, *options):
        """`dermis skin`; returns the measures, and the target if one is requested."""
        target = target and self.target(target)
        output = ["-o", target, "--force"] if target else []
        return json.loads(self.run("skin", *inputs, *output, "--format", "json", *options)), target

    def target(self, name):
        target = self.work / name
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def run(self, *arguments):
        """Output of the program under test."""
        run = subprocess.run([self.dermis, *map(str, arguments)], capture_output=True, text=True, timeout=600)
        if run.returncode:
            words = " ".join(getattr(argument, "name", str(argument)) for argument in arguments)
            raise Failed(f"dermis {words}: {run.stderr.strip()}")
        return run.stdout

    def three(self, jobs):
        return self._client(["node", HERE / "three_corners.mjs"], jobs)

    def three_fbx(self, jobs):
        return self._client(["node", HERE / "three_fbx.mjs"], jobs)

    def validator(self, files):
        return self._client(["node", HERE / "validate_gltf.mjs"], [str(file) for file in files])

    def blender(self, jobs):
        return self._client([sys.executable, HERE / "blender_points.py"], jobs)

    def openusd(self, jobs):
        return self._client([sys.executable, HERE / "usd_points.py"], jobs)

    def _client(self, command, jobs):
        """Runs all jobs in one process, since clients are slow to start; returns one line per job."""
        if not jobs:
            return []
        self.work.mkdir(parents=True, exist_ok=True)
        list_file = self.work / "jobs.json"
        list_file.write_text(json.dumps(jobs, default=str))
        run = subprocess.run([*command, list_file], capture_output=True, text=True, timeout=1800)
        answers = [json.loads(line) for line in run.stdout.splitlines()]
        missing = {"error": f"the client exited early: {run.stderr[-2000:]}"}
        return answers + [missing] * (len(jobs) - len(answers))


RIG = ["weights", "skin", "basis", "coefficients"]
MOTION = ["skin", "coefficients"]


class Sequence:
    """A sequence as dermis writes it to `.npz`; the first clip if there are several."""

    def __init__(self, path):
        with np.load(path) as arrays:
            self.faces = arrays["faces"]
            self.rest = arrays["rest"]
            first = slice(arrays["clip_frames"][0] if "clip_frames" in arrays else None)
            self.frames = arrays["frames"][first] if "frames" in arrays else arrays["rest"][None]
            self.fps = rate_of(arrays)
            self.start = float(arrays["start_seconds"]) if "start_seconds" in arrays else 0.0
            self.metres_per_unit = float(arrays["metres_per_unit"]) if "metres_per_unit" in arrays else 1.0
            self.rig = {name: arrays[name] for name in RIG if name in arrays}
            self.rig.update({name: self.rig[name][first] for name in MOTION if name in self.rig})

    @property
    def times(self):
        return [self.start + frame / self.fps for frame in range(len(self.frames))]

    @property
    def corners(self):
        return self.frames[:, self.faces.ravel()]

    def posed(self, influences=None):
        """The rest pose posed by the rig in each frame, with this number of influences; the frames if there is no rig."""
        if "coefficients" not in self.rig:
            return self.frames
        shapes = np.einsum("sk,kni->sni", self.rig["coefficients"], self.rig["basis"].astype(np.float64))
        rest = self.rest.astype(np.float64) + shapes
        if "skin" not in self.rig:
            return rest
        weights = largest_weights(self.rig["weights"].astype(np.float64), influences)
        posed = np.empty(rest.shape)
        for frame, (points, bones) in enumerate(zip(rest, self.rig["skin"])):
            blended = np.tensordot(weights, bones[:, :3], axes=1)
            posed[frame] = np.einsum("nij,nj->ni", blended[:, :, :3], points) + blended[:, :, 3]
        return posed

    @property
    def box(self):
        """Diagonal of the bounding box of the rest pose."""
        return float(np.linalg.norm(np.ptp(self.rest.astype(np.float64), axis=0)))


def rate_of(arrays):
    if "fps" in arrays:
        return float(arrays["fps"])
    if "times" in arrays:
        return round(1 / float(np.diff(arrays["times"]).mean()), 6)
    return 24.0


def largest_weights(weights, count):
    """The `count` largest weights of each row, normalized to sum to 1; all weights if `count` is None."""
    if count is None or weights.shape[1] <= count:
        return weights
    small = np.argsort(-weights, axis=1, kind="stable")[:, count:]
    weights = weights.copy()
    np.put_along_axis(weights, small, 0.0, axis=1)
    return weights / weights.sum(axis=1, keepdims=True)


def largest_distance(ours, theirs, box):
    """Largest distance between corresponding points, as a fraction of `box`; infinite if the shapes of the arrays differ."""
    if ours.shape != theirs.shape:
        return float("inf")
    return float(np.linalg.norm(ours.astype(np.float64) - theirs, axis=-1).max() / box)
