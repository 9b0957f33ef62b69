"""Arrays that share memory, large arrays, plots and the viewer."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import urllib.error
import urllib.request

import numpy as np
import pytest

import dermis

# Size of the large array, in MB; a gigabyte is used on request.
LARGE_MB = int(os.environ.get("DERMIS_LARGE_MB", "256"))


def test_views_outlive_their_sequence(gallop):
    sequence = dermis.MeshSequence(gallop.faces, gallop.frames.copy())
    frames, rest, faces, frame = sequence.frames, sequence.rest, sequence.faces, sequence[3]
    expected = frames.copy()
    del sequence
    gc.collect()
    junk = [np.full((1000, 1000), 7.0) for _ in range(4)]
    assert np.array_equal(frames, expected) and np.array_equal(frame, expected[3]) and len(junk) == 4
    assert np.array_equal(rest, expected[0]) and faces.max() == len(rest) - 1
    for view in (frames, rest, faces, frame):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 0
        with pytest.raises(ValueError, match="WRITEABLE|writeable"):
            view.setflags(write=True)


def test_views_outlive_their_skin(gallop):
    skin = dermis.fit_skin(gallop, bones=4, refine=2)
    rest, expected = skin.rest, np.array(skin.rest)
    del skin
    gc.collect()
    assert np.array_equal(rest, expected)


def test_frames_in_memory_are_shared():
    frames = np.zeros((4, 3, 3), dtype=np.float32)
    sequence = dermis.MeshSequence([[0, 1, 2]], frames)
    assert np.shares_memory(sequence.frames, frames) and np.shares_memory(sequence[2], frames[2])


def test_large_arrays_are_not_copied():
    """Measured in a new process, whose peak memory is that of this work alone."""
    code = f"""
import resource, numpy as np, dermis
points = {LARGE_MB} * 1_000_000 // (16 * 12)
faces = np.array([[0, 1, 2]])
frames = np.zeros((16, points, 3), dtype=np.float32)
frames += 1
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
sequence = dermis.MeshSequence(faces, frames)
view = sequence.frames
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert np.shares_memory(view, frames)
print(after - before)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    grown_mb = int(result.stdout) / 1000
    print(f"{LARGE_MB} MB in: memory grew by {grown_mb:.0f} MB")
    # The rest pose, one of 16 frames, is copied.
    assert grown_mb < 0.12 * LARGE_MB + 20 and resource is not None


def test_errors_are_plotted(skin, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    figure = skin.plot()
    figure.savefig(tmp_path / "errors.png")
    over_time, histogram = figure.axes
    largest = over_time.lines[1].get_ydata().max()
    diagonal = np.linalg.norm(np.ptp(skin.rest, axis=0))
    assert abs(100 * largest / diagonal - skin.metrics["max_error_percent"]) < 0.05 * skin.metrics["max_error_percent"]
    assert len(histogram.patches) == 50
    with pytest.raises(dermis.InputError):
        skin.plot("no-such-clip")


def test_the_viewer_serves_and_stops(gallop, skin, body):
    try:
        viewer = dermis.view(gallop, skin, body, "sample:towel", open_browser=False)
    except dermis.WorkError as error:
        pytest.skip(str(error).splitlines()[0])
    with viewer:
        with urllib.request.urlopen(viewer.url + "api/scene") as response:
            import json

            assets = json.load(response)["assets"]
            policy = response.headers["Content-Security-Policy"]
        assert [len(asset["bones"]) for asset in assets][:2] == [0, skin.bone_count]
        assert assets[1]["clips"][0]["reference"] == 0 and assets[2]["tissue"]
        assert "frame-ancestors http://localhost:*" in policy and "default-src 'self'" in policy
        with urllib.request.urlopen(viewer.url) as response:
            assert b"<html" in response.read().lower()
        assert f'<iframe src="{viewer.url}"' in viewer._repr_html_()
        request = urllib.request.Request(viewer.url + "api/scene", headers={"Origin": "http://example.org"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(request)
        port = int(viewer.url.rsplit(":", 1)[1].strip("/"))
        with pytest.raises(dermis.FileError, match=str(port)):
            dermis.view(skin, port=port, open_browser=False)
    with pytest.raises(OSError):
        urllib.request.urlopen(viewer.url, timeout=2)
    viewer.close()
    with pytest.raises(TypeError):
        dermis.view(3, open_browser=False)


def test_import_is_fast():
    code = "import time; t = time.process_time(); import dermis; print(time.process_time() - t)"
    times = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) for _ in range(5)]
    print(f"import {min(times):.3f} s")
    assert min(times) < 0.3
