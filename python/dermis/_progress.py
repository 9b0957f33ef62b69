"""The progress bar of ``progress=True``, for terminals and notebooks."""

from __future__ import annotations

import sys


class Bar:
    """Writes one line to standard error and updates it in place; `close` ends the line."""

    def __init__(self) -> None:
        self._width = 0

    def __call__(self, stage: str, done: int, total: int) -> None:
        percent = 100 * done // max(total, 1)
        line = f"{stage} {percent:3d} %"
        self._width = max(self._width, len(line))
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()

    def close(self) -> None:
        if self._width:
            sys.stderr.write("\n")
            sys.stderr.flush()
