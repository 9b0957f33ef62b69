"""Plots of the error of a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._dermis import MeshSequence, Skin


def plot_errors(skin: Skin, sequence: MeshSequence, clip: str | None = None) -> Any:
    """Plot the distance between a skin and a sequence over time and as a histogram; returns a Matplotlib figure.

    >>> figure = dermis.plot_errors(skin, walk)
    >>> figure.savefig("errors.png")
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots require Matplotlib: pip install matplotlib") from error

    name = skin.clips[0] if clip is None else clip
    distances = np.stack(
        [np.linalg.norm(skin.pose(name, frame) - sequence[frame], axis=1) for frame in range(len(sequence))]
    )
    figure, (over_time, histogram) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
    over_time.plot(np.sqrt((distances**2).mean(axis=1)), label="RMS")
    over_time.plot(distances.max(axis=1), label="largest")
    over_time.set(xlabel="frame", ylabel="distance", ylim=(0, None), title=name)
    over_time.legend()
    histogram.hist(distances.ravel(), bins=50)
    histogram.set(xlabel="distance", ylabel="points", yscale="log")
    return figure
