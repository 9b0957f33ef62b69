"""The exception of invalid selections and scenes."""

from __future__ import annotations


class SceneError(Exception):
    """The selected objects cannot be used; the message is shown to the user."""
