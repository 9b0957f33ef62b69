"""Long work in a thread, with progress and cancellation."""

from __future__ import annotations

import threading
from typing import Any, Callable

import bpy

# Interval at which the state of the work is shown, in seconds.
INTERVAL_S = 0.1

Work = Callable[[Callable[[str, int, int], None]], Any]


class Cancelled(Exception):
    """The user cancelled the work."""


class Job:
    """Runs a function of a progress callback, in this thread or in another one."""

    def __init__(self, work: Work) -> None:
        self.stage, self.fraction = "", 0.0
        self.result: Any = None
        self.error: BaseException | None = None
        self._work = work
        self._cancelled = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self.run, daemon=True)
        self._thread.start()

    def run(self, show: Callable[[str, float], None] | None = None) -> None:
        def report(stage: str, done: int, total: int) -> None:
            self.stage, self.fraction = stage, done / max(total, 1)
            if show is not None:
                show(self.stage, self.fraction)
            if self._cancelled.is_set():
                raise Cancelled

        try:
            self.result = self._work(report)
        except BaseException as error:  # The exception is raised again in the thread of the operator.
            self.error = error

    def cancel(self) -> None:
        self._cancelled.set()

    @property
    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()


class WorkOperator:
    """Base of operators: `prepare` reads the scene, `compute` runs without it, and `build` changes it."""

    def prepare(self, context: bpy.types.Context) -> Any:
        raise NotImplementedError

    def compute(self, prepared: Any, progress: Callable[[str, int, int], None]) -> Any:
        raise NotImplementedError

    def build(self, context: bpy.types.Context, prepared: Any, result: Any) -> None:
        raise NotImplementedError

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Runs to the end: for scripts, and for repeated runs with other options."""
        started = self._start(context)
        if started is not None:
            return started
        manager = context.window_manager
        manager.progress_begin(0, 100)
        try:
            self._job.run(lambda _, fraction: None if bpy.app.background else manager.progress_update(100 * fraction))
        finally:
            manager.progress_end()
        return self._finish(context)

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        """Runs in a thread; the interface stays responsive, and Esc cancels."""
        if bpy.app.background:
            return self.execute(context)
        started = self._start(context)
        if started is not None:
            return started
        self._job.start()
        self._timer = context.window_manager.event_timer_add(INTERVAL_S, window=context.window)
        context.window_manager.progress_begin(0, 100)
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if event.type == "ESC":
            self._job.cancel()
        if event.type != "TIMER":
            # The scene must not change during the computation.
            return {"RUNNING_MODAL"}
        job, manager = self._job, context.window_manager
        manager.progress_update(100 * job.fraction)
        context.workspace.status_text_set(f"{self.bl_label}: {job.stage} {100 * job.fraction:.0f} %   Esc: cancel")
        if job.is_running:
            return {"RUNNING_MODAL"}
        manager.event_timer_remove(self._timer)
        manager.progress_end()
        context.workspace.status_text_set(None)
        return self._finish(context)

    def _start(self, context: bpy.types.Context) -> set[str] | None:
        """Reads the scene; returns the state of the operator if it ends here."""
        try:
            prepared = self._prepared = self.prepare(context)
        except Exception as error:
            return self._failed(error)
        self._job = Job(lambda progress: self.compute(prepared, progress))
        return None

    def _finish(self, context: bpy.types.Context) -> set[str]:
        if self._job.error is not None:
            return self._failed(self._job.error)
        try:
            self.build(context, self._prepared, self._job.result)
        except Exception as error:
            return self._failed(error)
        return {"FINISHED"}

    def _failed(self, error: BaseException) -> set[str]:
        from dermis import Error

        from .errors import SceneError

        if isinstance(error, Cancelled):
            self.report({"INFO"}, f"{self.bl_label}: cancelled")
            return {"CANCELLED"}
        if not isinstance(error, (Error, SceneError, OSError)):
            raise error
        self.report({"ERROR"}, str(error))
        return {"CANCELLED"}
