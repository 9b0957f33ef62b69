"""The viewer in the browser and in notebooks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ._dermis import serve

if TYPE_CHECKING:
    from os import PathLike

    from ._dermis import Viewer


def view(
    *what: Any,
    port: int = 0,
    open_browser: bool | None = None,
    paint: str | None = None,
    output: str | PathLike[str] | None = None,
    force: bool = False,
) -> Viewer:
    """Show objects of dermis and files in the viewer; a motion and a skin of it are compared.

    The page is served on 127.0.0.1 until the viewer is closed or the program ends; scripts call `wait()`. In a notebook,
    the result is shown as a frame; otherwise the browser is opened, unless `open_browser` is False. Edits are saved to
    `output`, or offered as a download.

    >>> viewer = dermis.view(walk, skin, open_browser=False)
    >>> viewer.url
    'http://127.0.0.1:...'
    >>> viewer.close()
    """
    viewer = serve(*what, port=port, paint=paint, output=output, force=force)
    if open_browser or (open_browser is None and not _in_notebook()):
        import webbrowser

        webbrowser.open(viewer.url)
    return viewer


def _in_notebook() -> bool:
    """True if the code runs in the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"
