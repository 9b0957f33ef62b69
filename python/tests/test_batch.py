"""Batches on this machine and on a Ray cluster of two nodes, one of which is killed."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import dermis
import pytest

PROGRAM = os.environ.get("DERMIS") or shutil.which("dermis")
if PROGRAM is None:
    pytest.skip("skipped: the program dermis is not installed (set DERMIS)", allow_module_level=True)

SWEEP = """
[[job]]
name = "flag"
command = "convert"
input = "sample:flag"
output = "flag.npz"

[[job]]
name = "fit"
command = "skin"
input = "flag.npz"
output = "flag-{bones}-{rank}.glb"
matrix = { bones = [4, 6, 8], rank = [0, 1] }

[[job]]
name = "bad"
command = "skin"
input = "missing.npz"
output = "bad.glb"
"""


def job_file(folder: Path, text: str = SWEEP) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "jobs.toml"
    path.write_text(text)
    return path


def files_of(folder: Path) -> dict[str, bytes]:
    """Contents of the outputs and of the tables without times."""
    outputs = [*folder.glob("*.glb"), *folder.glob("*.npz")]
    tables = [folder / "jobs.results" / name for name in ("results.json", "results.csv")]
    return {path.name: path.read_bytes() for path in outputs + tables}


def statuses(rows: list[dict[str, Any]]) -> dict[str, str]:
    assert len({row["name"] for row in rows}) == len(rows)
    return {row["name"]: row["status"] for row in rows}


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("local")
    rows = dermis.batch.run(job_file(folder), executable=PROGRAM)
    expected = {"flag": "done", "bad": "failed"}
    expected |= {f"fit-bones={bones}-rank={rank}": "done" for bones in (4, 6, 8) for rank in (0, 1)}
    assert statuses(rows) == expected
    return folder


def test_a_plan_lists_jobs_and_their_state(local: Path) -> None:
    planned = dermis.batch.plan(local / "jobs.toml", executable=PROGRAM)
    jobs = {job["name"]: job for job in planned["jobs"]}
    assert jobs["fit-bones=4-rank=0"]["after"] == ["flag"]
    assert [job["is_done"] for job in planned["jobs"]] == [True] * 7 + [False]
    assert planned["version"] == dermis.__version__


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[[job]]", "[[jobs]]"), "unknown field"),
        (('input = "sample:flag"', 'inputt = "sample:flag"'), "unknown field"),
        (('input = "sample:flag"', 'input = "sample:flag"\nafter = "fit"'), "depend on each other"),
        (('command = "convert"', 'command = "convrt"'), "no command 'convrt'"),
        (("bones = [4, 6, 8]", "bonse = [4]"), "unknown placeholder"),
    ],
)
def test_a_bad_job_file_is_an_exception(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    path = job_file(tmp_path, SWEEP.replace(*change))
    with pytest.raises(dermis.InputError, match=message):
        dermis.batch.run(path, executable=PROGRAM)
    assert sorted(os.listdir(tmp_path)) == ["jobs.toml"]


def test_a_missing_program_or_file_is_an_exception(tmp_path: Path) -> None:
    with pytest.raises(dermis.FileError, match="no program"):
        dermis.batch.run(tmp_path / "jobs.toml", executable=str(tmp_path / "none"))
    with pytest.raises(dermis.InputError, match="no such file"):
        dermis.batch.run(tmp_path / "jobs.toml", executable=PROGRAM)


def listening_addresses(processes: set[int]) -> set[str]:
    """Addresses other than loopback at which one of `processes` accepts TCP connections, as hexadecimal text."""
    sockets = set()
    for process in processes:
        try:
            for entry in os.scandir(f"/proc/{process}/fd"):
                sockets.add(os.readlink(entry.path))
        except OSError:
            continue
    found = set()
    # 127.0.0.1, the same address as IPv6, and ::1.
    loopback = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            is_listening = fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets
            if is_listening and fields[1].split(":")[0] not in loopback:
                found.add(f"{table} {fields[1]}")
    return found


def descendants(root: int) -> set[int]:
    parents = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                stat = Path(entry.path, "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rsplit(")", 1)[1].split()[1])
    found, grown = {root}, True
    while grown:
        more = {child for child, parent in parents.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return found


def test_a_cluster_that_loses_a_node_gives_the_same_bytes(tmp_path: Path, local: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # No connections to other machines: the nodes listen at the loopback address, and the driver does not replace it by
    # that of the machine. A busy machine needs more than the default of 30 s to start a node.
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    monkeypatch.setenv("RAY_raylet_start_wait_time_s", "180")
    ray = pytest.importorskip("ray", reason="skipped: ray is not installed")
    from ray.cluster_utils import Cluster

    arguments = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "object_store_memory": 100 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={**arguments, "include_dashboard": False})
    path = job_file(tmp_path / "cluster")
    records = path.parent / "jobs.results" / "records"
    lost: list[str] = []
    try:
        node = cluster.add_node(**arguments)
        cluster.wait_for_nodes()
        assert listening_addresses(descendants(os.getpid())) == set()

        def kill_when_busy() -> None:
            # With one core per node, two jobs that have started are one on each node.
            deadline = time.monotonic() + 300
            while time.monotonic() < deadline:
                started = [file.stem for file in records.glob("fit*.json") if json.loads(file.read_text())["outcome"] == "started"]
                if len(started) == 2:
                    lost.extend(started)
                    cluster.remove_node(node, allow_graceful=False)
                    return
                time.sleep(0.01)

        killer = threading.Thread(target=kill_when_busy)
        killer.start()
        rows = dermis.batch.run(path, cluster.address, executable=PROGRAM)
        killer.join()
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert len(lost) == 2, "no node was killed while it had a job"
    assert statuses(rows) == statuses(json.loads((local / "jobs.results/results.json").read_text())["jobs"])
    assert files_of(path.parent) == files_of(local)
    assert not [name for name in os.listdir(path.parent) if name.startswith(".dermis-")]
