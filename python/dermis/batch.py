"""Batches of jobs, on this machine or on a Ray cluster.

A job file describes commands, inputs, options and dependencies (``docs/batch.md``). The program ``dermis`` expands it,
runs jobs and writes the tables, here and on every node, so that both paths give the same files.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ._dermis import FileError, InputError, WorkError

__all__ = ["plan", "run"]

#: Part of the memory of the largest node that one job can reserve.
_MAX_MEMORY_FRACTION = 0.9


def plan(
    path: str | os.PathLike[str],
    *,
    executable: str | None = None,
    results: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Jobs of a file with their commands, dependencies, memory and state, without running them.

    >>> [job["name"] for job in dermis.batch.plan("jobs.toml")["jobs"]]  # doctest: +SKIP
    ['fit-walk', 'fit-run']
    """
    return _answer(_command(_program(executable), path, results, "--plan"))


def run(
    path: str | os.PathLike[str],
    address: str | None = None,
    *,
    executable: str | None = None,
    results: str | os.PathLike[str] | None = None,
    force: bool = False,
    cpus_per_job: int = 1,
    retries: int = 3,
    progress: bool | Callable[[str, int, int], object] = False,
) -> list[dict[str, Any]]:
    """Run the jobs of a file and return the rows of its table of results.

    A job that fails does not stop the others: its row has the status ``failed`` and a message. Jobs with a current
    result are not run again; `force` runs them and replaces existing outputs.

    Without `address` the jobs run on this machine. With the address of a Ray cluster they run on its nodes, which must
    have the same version of the program and see the folder of the job file and the results under the same path. Each
    job reserves `cpus_per_job` cores. A job whose node is lost is repeated up to `retries` times.

    `executable` is the program ``dermis``; the default is the environment variable ``DERMIS`` or the program in the
    search path. `progress` is a function ``(stage, done, total)`` that is called after each job, or ``True`` for a line
    on standard error.

    >>> for row in dermis.batch.run("jobs.toml", "ray://127.0.0.1:10001"):  # doctest: +SKIP
    ...     print(row["name"], row["status"])
    """
    if cpus_per_job < 1 or retries < 0:
        raise InputError("cpus_per_job must be at least 1, and retries at least 0")
    program = _program(executable)
    if address is None:
        flags = ["--force"] if force else []
        shown = _answer(_command(program, path, results, *flags), is_shown=progress is True)
    else:
        on_nodes = executable or os.environ.get("DERMIS") or "dermis"
        _run_on_cluster(program, on_nodes, path, results, address, force, cpus_per_job, retries, _observer(progress))
        shown = _answer(_command(program, path, results, "--tables"))
    with open(Path(shown["results"]) / "results.json", encoding="utf-8") as file:
        rows: list[dict[str, Any]] = json.load(file)["jobs"]
    return rows


def _run_on_cluster(
    program: str,
    on_nodes: str,
    path: str | os.PathLike[str],
    results: str | os.PathLike[str] | None,
    address: str,
    force: bool,
    cpus_per_job: int,
    retries: int,
    observe: Callable[[str, int, int], object],
) -> None:
    """Runs the jobs as tasks of Ray, each after those that it depends on."""
    planned = _answer(_command(program, path, results, "--plan"))
    try:
        ray = importlib.import_module("ray")
        cloudpickle = importlib.import_module("ray.cloudpickle")
    except ImportError as error:
        raise InputError("a cluster needs the package ray\nhint: pip install 'dermis[cluster]'") from error
    jobs = {job["name"]: job for job in planned["jobs"] if force or not job["is_done"]}
    # Tasks are sent as code, so that nodes need the program but not this package.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    was_connected = ray.is_initialized()
    if not was_connected:
        ray.init(address=address, log_to_driver=False)
    try:
        memory = max((node["Resources"].get("memory", 0) for node in ray.nodes() if node["Alive"]), default=0)
        usable = {name for name in (job["name"] for job in planned["jobs"]) if name not in jobs}
        waiting = dict(jobs)
        running: dict[Any, str] = {}
        flags = ["--force"] if force else []
        while waiting or running:
            for name in [name for name, job in waiting.items() if usable.issuperset(job["after"])]:
                job = waiting.pop(name)
                task = ray.remote(
                    num_cpus=cpus_per_job,
                    memory=int(min(job["memory_bytes"], _MAX_MEMORY_FRACTION * memory)),
                    max_retries=retries,
                )(_run_job)
                words = _command(on_nodes, path, results, f"--only={name}", f"--threads={cpus_per_job}", *flags)
                running[task.remote(words)] = name
            if not running:
                break  # The other jobs depend on jobs that failed.
            done, _ = ray.wait(list(running), num_returns=1)
            name = running.pop(done[0])
            try:
                answer = ray.get(done[0])
            except ray.exceptions.RayTaskError as error:
                raise WorkError(f"job '{name}' cannot be run on a node: {error.cause}") from error
            except ray.exceptions.RayError:
                # All attempts were lost; the job remains pending in the table.
                answer = {"version": planned["version"], "jobs": []}
            _expect_version(answer, planned["version"])
            usable.update(job["name"] for job in answer["jobs"] if job["status"] in ("done", "missed"))
            observe("jobs", len(jobs) - len(waiting) - len(running), len(jobs))
    finally:
        if not was_connected:
            ray.shutdown()


def _run_job(words: list[str]) -> dict[str, Any]:
    """Runs one job on a node, and ends it if the worker ends."""
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def end_with_worker() -> None:
        if libc is not None:
            libc.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG

    done = subprocess.run(words, capture_output=True, text=True, preexec_fn=end_with_worker, check=False)
    try:
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise RuntimeError(done.stderr.strip() or f"exit code {done.returncode}") from None
    if "error" in answer:
        raise RuntimeError(done.stderr.strip())
    return answer


def _expect_version(answer: dict[str, Any], expected: str) -> None:
    if answer["version"] != expected:
        raise WorkError(f"a node has version {answer['version']} of dermis, but this machine has {expected}")


def _observer(progress: bool | Callable[[str, int, int], object]) -> Callable[[str, int, int], object]:
    if callable(progress):
        return progress
    if not progress:
        return lambda stage, done, total: None
    return lambda stage, done, total: print(f"{done} of {total} {stage}", file=sys.stderr)


def _program(executable: str | None) -> str:
    """Path of the program on this machine."""
    name = executable or os.environ.get("DERMIS") or "dermis"
    found = shutil.which(name)
    if found is None:
        raise FileError(f"there is no program '{name}'\nhint: install it with 'cargo install --path crates/dermis-cli'")
    return found


def _command(program: str, path: str | os.PathLike[str], results: str | os.PathLike[str] | None, *words: str) -> list[str]:
    folder = [] if results is None else [f"--results={os.path.abspath(results)}"]
    return [program, "batch", "--format=json", *folder, *words, "--", os.path.abspath(path)]


def _answer(words: list[str], *, is_shown: bool = False) -> dict[str, Any]:
    """JSON output of the program. Errors of the job file are raised; results of failed jobs are not."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=None if is_shown else subprocess.PIPE, text=True, check=False)
    try:
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise WorkError(f"{words[0]} failed with exit code {done.returncode}\n{done.stderr or ''}".strip()) from None
    problem = answer.get("error")
    if problem is None:
        return answer
    location = ":".join(part for part in (problem["path"], problem["location"]) if part)
    text = "\n".join([f"{location}: {problem['message']}".lstrip(": "), *problem["details"]])
    error = InputError(text if problem["hint"] is None else f"{text}\nhint: {problem['hint']}")
    error.hint, error.details = problem["hint"], problem["details"]
    raise error
