"""Tests of the package; run by `python/check`."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
import time

import numpy as np
import pytest

import dermis

# Time to stop after Ctrl-C: half a second on an idle machine with an optimized build, which is not the usual case.
LATENCY_S = 0.5 if os.environ.get("DERMIS_OPTIMIZED") else 10.0


def rising(frames: int = 5) -> tuple[np.ndarray, np.ndarray]:
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=np.float32)
    return faces, np.stack([square + [0, 0, k] for k in range(frames)]).astype(np.float32)


def test_a_skin_reproduces_its_sequence(gallop, skin):
    assert skin.bone_count == 12 and skin.rank == 2 and skin.basis.shape == (2, len(skin.rest), 3)
    errors = [np.linalg.norm(skin.pose(0, frame) - gallop[frame], axis=1) for frame in range(len(gallop))]
    diagonal = np.linalg.norm(np.ptp(skin.rest, axis=0))
    assert np.max(errors) < skin.metrics["max_error_percent"] / 100 * diagonal * 1.001
    assert skin.metrics["distortion_percent"] < 20


def test_weights_and_transforms_give_the_pose(gallop):
    skin = dermis.fit_skin(gallop, bones=8, refine=4)
    dense = skin.weights.toarray() if hasattr(skin.weights, "toarray") else skin.weights
    assert np.allclose(dense.sum(axis=1), 1, atol=1e-5)
    moved = skin.transforms()
    bind = np.linalg.inv(skin.bind)
    blended = np.einsum("pb,bij->pij", dense, moved[7] @ bind)
    points = np.concatenate([skin.rest, np.ones((len(skin.rest), 1))], axis=1)
    posed = np.einsum("pij,pj->pi", blended, points)[:, :3]
    assert np.abs(posed - skin.pose(0, 7)).max() < 1e-4


def test_a_skin_survives_a_round_trip(skin, tmp_path):
    path = tmp_path / "skin.glb"
    skin.save(path)
    with pytest.raises(dermis.FileError) as caught:
        skin.save(path)
    assert caught.value.hint and caught.value.hint in str(caught.value)
    skin.save(path, force=True)
    scene = dermis.load(path)
    again = scene.sequence()
    assert np.abs(again[5] - skin.pose(0, 5)).max() < 1e-3
    assert scene.objects[0].joints and scene.clips == skin.clips


def test_frames_are_used_without_a_copy():
    faces, frames = rising()
    sequence = dermis.MeshSequence(faces, frames, fps=30, name="rise")
    assert not frames.flags.writeable and sequence.fps == 30 and len(sequence) == 5
    del frames
    gc.collect()
    assert sequence[-1][0, 2] == 4 and sequence.frames.shape == (5, 4, 3)
    assert np.array_equal(sequence.rest, sequence[0])


def test_views_of_writable_arrays_are_copied():
    faces, frames = rising()
    sequence = dermis.MeshSequence(faces, frames[1:4])
    frames[:] = 9
    assert frames.flags.writeable and sequence[0][0, 2] == 1


def test_rejected_arrays_stay_writable():
    faces, frames = rising()
    frames[3, 1, 0] = np.nan
    with pytest.raises(dermis.InputError, match="frame 3"):
        dermis.MeshSequence(faces, frames)
    assert frames.flags.writeable


def test_several_meshes_are_rejected_as_a_cloth(tmp_path):
    faces, frames = rising()
    (tmp_path / "two.obj").write_text(
        "o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\no b\nv 0 0 1\nv 1 0 1\nv 0 1 1\nf 4 5 6\n"
    )
    two = dermis.load(tmp_path / "two.obj")
    if len(two.objects) > 1:
        with pytest.raises(dermis.InputError, match="several meshes"):
            dermis.wrinkle(two)


def test_other_arrays_are_converted():
    faces, frames = rising()
    for other in (frames.astype(np.float64), frames.astype(int), frames[:, ::-1], frames.tolist()):
        assert len(dermis.MeshSequence(faces.tolist(), other)) == 5
    reversed_points = dermis.MeshSequence(faces, frames[:, ::-1])
    assert np.array_equal(reversed_points[2], frames[2, ::-1])
    frozen = frames.copy()
    frozen.setflags(write=False)
    assert len(dermis.MeshSequence(faces, frozen)) == 5


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (lambda f, x: (f, x[0]), dermis.InputError, r"shape \(4, 3\)"),
        (lambda f, x: (f, x[:, :, :2]), dermis.InputError, "expected"),
        (lambda f, x: (f[:, :2], x), dermis.InputError, r"\(n, 3\)"),
        (lambda f, x: (f + 2, x), dermis.InputError, "point"),
        (lambda f, x: (-f, x), dermis.InputError, "-1|-2|-3"),
        (lambda f, x: (f.astype(float), x), TypeError, "float64"),
        (lambda f, x: (f, x.astype(str)), TypeError, "dtype"),
        (lambda f, x: (f, x * np.inf), dermis.InputError, "frame"),
        (lambda f, x: (f, x[:0]), dermis.InputError, "no frames"),
    ],
)
def test_invalid_arrays_are_rejected(change, error, text):
    with pytest.raises(error, match=text), np.errstate(invalid="ignore"):
        dermis.MeshSequence(*change(*rising()))


def test_invalid_options_are_rejected(gallop):
    with pytest.raises(dermis.InputError, match="exclude"):
        dermis.fit_skin(gallop, bones=3, error=2)
    with pytest.raises(dermis.InputError, match="stiff"):
        dermis.fit_skin(gallop, bone_model="stiff")
    with pytest.raises(TypeError):
        dermis.fit_skin(gallop, bone=3)
    with pytest.raises(TypeError, match="progress"):
        dermis.fit_skin(gallop, progress=3)
    with pytest.raises(dermis.FileError, match="no-such"):
        dermis.load("no-such.glb")
    with pytest.raises(TypeError, match="int"):
        dermis.keep_volume(3)


def test_progress_is_reported_and_can_stop(gallop):
    seen: list[tuple[str, int, int]] = []

    def stop_soon(stage: str, done: int, total: int) -> bool:
        seen.append((stage, done, total))
        return len(seen) < 2

    dermis.fit_skin(gallop, bones=30, progress=stop_soon)
    assert len(seen) == 2

    def fail(stage: str, done: int, total: int) -> None:
        raise KeyError(stage)

    with pytest.raises(KeyError):
        dermis.fit_skin(gallop, bones=30, progress=fail)


def test_ctrl_c_stops_within_half_a_second(gallop):
    sender = threading.Timer(0.3, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT))
    sender.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        dermis.fit_skin(gallop, bones=60, refine=10_000)
    seconds = time.perf_counter() - start - 0.3
    print(f"stopped {seconds:.2f} s after Ctrl-C")
    assert seconds < LATENCY_S


def test_two_threads_fit_at_once(gallop):
    results: list[float] = []

    def fit() -> None:
        results.append(dermis.fit_skin(gallop, bones=6, refine=3).metrics["distortion_percent"])

    threads = [threading.Thread(target=fit) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 2 and results[0] == results[1]


def _load_in_child(queue) -> None:
    try:
        dermis.load("sample:towel")
        queue.put("read")
    except dermis.Error as error:
        queue.put(str(error))


def test_a_fork_is_rejected_with_the_reason(gallop):
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_load_in_child, args=(queue,))
    child.start()
    assert "spawn" in queue.get(timeout=20)
    child.join()


def test_envelope_volume_wrinkles_and_levels(arm, tmp_path):
    model = dermis.train_envelope(arm, frames="::12", smoothness=1e-6)
    assert model.metrics["rms_error"] < model.metrics["linear_rms_error"]
    assert len(model.scene.objects[0].layers) == 1
    volume = dermis.keep_volume(arm)
    assert volume.metrics["drift_after"] < 1e-6 < volume.metrics["drift_before"]
    volume.save(tmp_path / "arm.glb")
    cloth = dermis.wrinkle(dermis.load("sample:towel"))
    assert len(cloth.sequence()) > 1
    levels = dermis.make_levels(arm, ratios=[0.5])
    assert levels.metrics["objects"][0]["levels"][0]["ratio"] == 0.5


def test_a_simulation_is_an_iterator(body):
    simulation = dermis.simulate(body, settle=0.05)
    frames = [points for points, _ in zip(simulation, range(3))]
    assert len(frames) == 3 and frames[0].shape == frames[1].shape and simulation.metrics["fem_elements"] > 0
    with pytest.raises(dermis.InputError, match="no such clip"):
        dermis.simulate(body, clip="flying")
