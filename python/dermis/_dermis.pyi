"""Types of the compiled module. Options that are ``None`` use the defaults of the Rust library."""

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Path = str | PathLike[str]
_Progress = bool | Callable[[str, int, int], bool | None] | None
_Input = Scene | Model | Skin | Object | MeshSequence

__all__ = [
    "Body",
    "Error",
    "FileError",
    "InputError",
    "MeshSequence",
    "Model",
    "Object",
    "Scene",
    "Simulation",
    "Skin",
    "WorkError",
    "__version__",
    "build_body",
    "fit_skin",
    "keep_volume",
    "load",
    "make_levels",
    "save",
    "simulate",
    "train_envelope",
    "wrinkle",
]

__version__: str

class Error(Exception):
    """Base class of all dermis exceptions; `hint` and `details` are the parts of the message as data."""

    hint: str | None
    details: list[str]

class FileError(Error):
    """A file cannot be read or written."""

class InputError(Error):
    """A mesh, a motion, a rig or an option is invalid."""

class WorkError(Error):
    """A fit, a correction or a simulation failed."""

@final
class MeshSequence:
    """A mesh with frames at a constant frame rate.

    `frames` has the shape (frames, points, 3). An array of 32-bit floats in C order is used without a copy: it becomes
    read-only and is kept alive by the sequence. Other arrays, and views of writable arrays, are copied. `rest` is the
    first frame by default.

    >>> walk = dermis.MeshSequence(faces, frames, fps=30)
    """

    def __new__(
        cls, faces: ArrayLike, frames: ArrayLike, rest: ArrayLike | None = None, fps: float = 24.0, name: str = "sequence"
    ) -> MeshSequence: ...
    @property
    def name(self) -> str: ...
    @property
    def fps(self) -> float: ...
    @property
    def faces(self) -> NDArray[np.uint32]: ...
    @property
    def rest(self) -> NDArray[np.float32]: ...
    @property
    def frames(self) -> NDArray[np.float32]:
        """All frames as an array; frames that are computed or stored in a file are read on access."""
    def __len__(self) -> int: ...
    def __getitem__(self, frame: int, /) -> NDArray[np.float32]: ...
    def save(self, path: _Path, *, force: bool = False) -> list[str]: ...

@final
class Object:
    """A mesh and its motion."""

    @property
    def name(self) -> str: ...
    @property
    def points(self) -> NDArray[np.float32]: ...
    @property
    def faces(self) -> NDArray[np.uint32]: ...
    @property
    def joints(self) -> list[str]: ...
    @property
    def parents(self) -> list[int | None]: ...
    @property
    def layers(self) -> list[str]: ...
    @property
    def clips(self) -> list[str]: ...
    def sequence(self, clip: str | None = None) -> MeshSequence: ...
    def save(self, path: _Path, *, force: bool = False) -> list[str]: ...

@final
class Scene:
    """The contents of a file."""

    @property
    def objects(self) -> list[Object]: ...
    @property
    def notes(self) -> list[str]:
        """Assumptions, omissions and repairs of the reader."""
    @property
    def metres_per_unit(self) -> float | None: ...
    @property
    def clips(self) -> list[str]: ...
    def sequence(self, clip: str | None = None) -> MeshSequence:
        """The motion with all layers: the recorded frames, the given clip (by name or index), or the first clip."""
    def save(self, path: _Path, *, force: bool = False) -> list[str]: ...

@final
class Model:
    """A scene with layers or levels of detail, and the measures of the function that created it."""

    @property
    def scene(self) -> Scene: ...
    @property
    def metrics(self) -> dict[str, Any]: ...
    @property
    def notes(self) -> list[str]: ...
    def sequence(self, clip: str | None = None) -> MeshSequence: ...
    def save(self, path: _Path, *, force: bool = False) -> list[str]: ...

@final
class Skin:
    """A fitted skin and the report of its fit."""

    @property
    def bone_count(self) -> int: ...
    @property
    def rank(self) -> int: ...
    @property
    def rest(self) -> NDArray[np.float32]: ...
    @property
    def faces(self) -> NDArray[np.uint32]: ...
    @property
    def bones(self) -> list[str]: ...
    @property
    def parents(self) -> list[int | None]: ...
    @property
    def clips(self) -> list[str]: ...
    @property
    def weights(self) -> Any:
        """Points × bones: a `scipy.sparse.csr_array` if SciPy is installed, otherwise an array."""
    @property
    def bind(self) -> NDArray[np.float64]:
        """World transforms of the bones in the bind pose, (bones, 4, 4)."""
    @property
    def basis(self) -> NDArray[np.float32]:
        """Shapes of the corrections, (rank, points, 3)."""
    @property
    def metrics(self) -> dict[str, Any]: ...
    @property
    def notes(self) -> list[str]: ...
    def transforms(self, clip: str | None = None) -> NDArray[np.float64]:
        """World transforms of the bones, (frames, bones, 4, 4).

        A point is moved by `transforms()[frame] @ inv(bind)` of its bones, blended by its weights.
        """
    def pose(self, clip: str | int, frame: int) -> NDArray[np.float32]:
        """Positions in a frame of a clip; the clip is given by name or by index from 0.

        >>> points = skin.pose("walk", 12)
        """
    def save(self, path: _Path, *, force: bool = False) -> list[str]: ...

@final
class Body:
    """A layered body."""

    @property
    def clips(self) -> list[str]: ...
    @property
    def notes(self) -> list[str]: ...
    def save(self, path: _Path, *, force: bool = False) -> list[str]: ...

@final
class Simulation:
    """A simulated motion: an iterator over frames of shape (points, 3)."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[NDArray[np.float32]]: ...
    def __next__(self) -> NDArray[np.float32]: ...
    def sequence(self) -> MeshSequence: ...
    @property
    def metrics(self) -> dict[str, Any]:
        """Measures of the frames simulated so far."""
    @property
    def notes(self) -> list[str]: ...
    def save(self, path: _Path, *, force: bool = False) -> list[str]: ...

def load(path: _Path) -> Scene:
    """Read a file, or a sample such as "sample:gallop".

    >>> walk = dermis.load("walk.abc").sequence()
    """

def save(what: _Input, path: _Path, *, force: bool = False) -> list[str]:
    """Write a scene, a model, a skin, an object or a sequence; returns the warnings.

    >>> dermis.save(skin, "walk.glb", force=True)
    """

def fit_skin(
    sequence: MeshSequence | Sequence[MeshSequence],
    *,
    bones: int | None = None,
    error: float | None = None,
    tolerance: float | None = None,
    rank: int | None = None,
    rank_error: float | None = None,
    influences: int | None = None,
    bone_model: str | None = None,
    smoothness: float | None = None,
    refine: int | None = None,
    keep_rest: bool | None = None,
    skeleton: str | None = None,
    progress: _Progress = None,
) -> Skin:
    """Fit bones, weights and corrections to one or more sequences of a mesh.

    `bones` is the number of bones. `error` selects the fewest bones within this distortion, in percent. `tolerance` is
    the rotation tolerance of mean shift. `rank` is the number of corrections; `rank_error` selects the fewest corrections
    within this distortion, in percent. `bone_model` is "rigid", "scaled" or "flexible"; `skeleton` is "fixed" or "free".
    `progress` is True for a progress bar, or a function of (stage, done, total) that returns False to stop with the best
    result so far.

    >>> skin = dermis.fit_skin(walk, bones=30, rank=5)
    """

def train_envelope(
    rig: _Input,
    targets: MeshSequence | None = None,
    *,
    clip: str | None = None,
    mesh: str | None = None,
    frames: str | None = None,
    smoothness: float | None = None,
    fade: bool | None = None,
    progress: _Progress = None,
) -> Model:
    """Learn multi-weights from the poses of a rig and the shapes that the skin should have in them.

    `frames` selects frames of the clip, as in "0:100:4,120".

    >>> arm = dermis.train_envelope(dermis.load("sample:arm"), frames="::8")
    """

def keep_volume(
    model: _Input, *, mode: str | None = None, cap: bool | None = None, progress: _Progress = None
) -> Model:
    """Preserve the volume of a rigged character in all clips. `mode` is "exact", "fast" or "global".

    >>> dermis.keep_volume(dermis.load("hero.glb")).save("hero-volume.glb")
    """

def wrinkle(
    cloth: _Input,
    *,
    rest: ArrayLike | None = None,
    subdivide: int | None = None,
    coarsen: int | None = None,
    progress: _Progress = None,
) -> Model:
    """Add wrinkles to the regions of a cloth that are compressed relative to `rest`, by default its rest pose.

    >>> dermis.wrinkle(dermis.load("shirt.abc")).save("folded.abc")
    """

def make_levels(
    model: _Input, *, ratios: Sequence[float] | None = None, max_poses: int | None = None, progress: _Progress = None
) -> Model:
    """Add levels of detail with these fractions of the triangles.

    >>> dermis.make_levels(skin, ratios=[0.5, 0.1]).save("levels.glb")
    """

def build_body(source: _Path, *, mesh: str | None = None, progress: _Progress = None) -> Body:
    """Build a layered body from a file, or read a body that has already been built.

    >>> body = dermis.build_body("sample:body")
    """

def simulate(
    body: Body, *, clip: str | None = None, substeps: int | None = None, settle: float | None = None
) -> Simulation:
    """Simulate the flesh of a body in one of its clips. Frames are simulated when they are read or saved.

    >>> for points in dermis.simulate(body, clip="running"):
    ...     draw(points)
    """
