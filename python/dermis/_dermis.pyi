"""Types and documentation of the compiled module.

Options that are ``None`` use the defaults of the Rust library, which `help` and `defaults` show. Examples use `walk`, a
mesh sequence; `skin`, a skin fitted to it; `arm`, a rigged character; and `body`, a layered body.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Path = str | PathLike[str]
_Progress = bool | Callable[[str, int, int], bool | None] | None
_Input = Scene | Model | Skin | Object | MeshSequence | Simulation | Body

__all__ = [
    "Body",
    "Error",
    "FileError",
    "InputError",
    "MeshSequence",
    "Model",
    "Object",
    "Packed",
    "Picture",
    "Scene",
    "Simulation",
    "Skin",
    "Viewer",
    "WorkError",
    "__version__",
    "bake_light",
    "build_body",
    "collide",
    "corrective_shapes",
    "defaults",
    "edit",
    "factor_transforms",
    "fit_beam",
    "fit_rig",
    "fit_skin",
    "fit_tissue",
    "inspect",
    "keep_volume",
    "load",
    "make_levels",
    "pack",
    "pose_model",
    "render",
    "rigged_mesh",
    "sample_scans",
    "save",
    "select",
    "serve",
    "simulate",
    "train_envelope",
    "validate_tissue",
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

    >>> faces, frames = walk.faces, walk.frames.copy()
    >>> dermis.MeshSequence(faces, frames, fps=30, name="walk")
    <dermis.MeshSequence 'walk': 48 frames of 8000 points, 30 fps>
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
        """All frames: a read-only view, or an array of frames that are computed or stored in a file."""
    def __len__(self) -> int: ...
    def __getitem__(self, frame: int, /) -> NDArray[np.float32]: ...
    def save(self, path: _Path, *, force: bool = False) -> list[str]: ...

@final
class Object:
    """A mesh and its motion. Arrays of points and faces are read-only views.

    >>> len(arm.objects[0].joints)
    5
    """

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
    def weights(self) -> Any:
        """Points × joints: a `scipy.sparse.csr_array` if SciPy is installed, otherwise an array; None without a rig."""
    @property
    def bind(self) -> NDArray[np.float64]:
        """World transforms of the joints in the bind pose, (joints, 4, 4)."""
    @property
    def shapes(self) -> list[str]:
        """Names of the blend shapes."""
    @property
    def basis(self) -> NDArray[np.float32]:
        """Offsets of the blend shapes, (shapes, points, 3)."""
    @property
    def attributes(self) -> dict[str, NDArray[np.float32]]:
        """Values per point, by name."""
    @property
    def layers(self) -> list[str]: ...
    @property
    def clips(self) -> list[str]: ...
    def transforms(self, clip: str | int | None = None) -> NDArray[np.float64]:
        """World transforms of the joints in a clip, (frames, joints, 4, 4)."""
    def coefficients(self, clip: str | int | None = None) -> NDArray[np.float32]:
        """Weights of the blend shapes in a clip, (frames, shapes)."""
    def sequence(self, clip: str | int | None = None) -> MeshSequence: ...
    def save(self, path: _Path, *, force: bool = False) -> list[str]: ...

@final
class Scene:
    """The contents of a file.

    >>> dermis.load("sample:arm").clips
    ['bend_and_twist']
    """

    @property
    def objects(self) -> list[Object]: ...
    @property
    def notes(self) -> list[str]:
        """Assumptions, omissions and repairs of the reader."""
    @property
    def metres_per_unit(self) -> float | None: ...
    @property
    def clips(self) -> list[str]: ...
    def sequence(self, clip: str | int | None = None) -> MeshSequence:
        """The motion with all layers: the recorded frames, the given clip (by name or index), or the first clip."""
    def save(self, path: _Path, *, force: bool = False) -> list[str]: ...

@final
class Model:
    """A scene with layers or levels of detail, and the measures of the function that created it.

    >>> model = dermis.keep_volume(arm)
    >>> model.metrics["drift_after"] < 1e-6
    True
    """

    @property
    def scene(self) -> Scene: ...
    @property
    def metrics(self) -> dict[str, Any]: ...
    @property
    def notes(self) -> list[str]: ...
    def sequence(self, clip: str | int | None = None) -> MeshSequence: ...
    def save(self, path: _Path, *, force: bool = False) -> list[str]: ...

@final
class Skin:
    """A fitted skin and the report of its fit.

    >>> skin.weights.shape == (len(skin.rest), skin.bone_count)
    True
    """

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
    def transforms(self, clip: str | int | None = None) -> NDArray[np.float64]:
        """World transforms of the bones, (frames, bones, 4, 4).

        A point is moved by `transforms()[frame] @ inv(bind)` of its bones, blended by its weights.

        >>> moved = skin.transforms() @ np.linalg.inv(skin.bind)
        """
    def coefficients(self, clip: str | int | None = None) -> NDArray[np.float32]:
        """Weights of the corrections, (frames, rank). They are added to the rest pose before the bones move it.

        >>> shapes = skin.rest + np.einsum("fr,rpx->fpx", skin.coefficients(), skin.basis)
        """
    def pose(self, clip: str | int, frame: int) -> NDArray[np.float32]:
        """Positions in a frame of a clip; the clip is given by name or by index from 0.

        >>> points = skin.pose(0, 12)
        """
    def plot(self, clip: str | int | None = None) -> Any:
        """Matplotlib figure of the error over time and its histogram.

        >>> skin.plot().savefig("errors.png")
        """
    def save(self, path: _Path, *, force: bool = False) -> list[str]: ...

@final
class Packed:
    """A packed glTF file in memory.

    >>> packed = dermis.pack(skin, error=1)
    >>> len(packed.glb) == packed.metrics["packed_bytes"]
    True
    """

    @property
    def glb(self) -> bytes: ...
    @property
    def metrics(self) -> dict[str, Any]: ...
    @property
    def notes(self) -> list[str]: ...
    def save(self, path: _Path, *, force: bool = False) -> list[str]: ...

@final
class Picture:
    """A picture in memory, which notebooks show.

    >>> dermis.render(skin, width=64, height=48).pixels.shape
    (48, 64, 4)
    """

    @property
    def pixels(self) -> NDArray[np.uint8]:
        """Red, green, blue and alpha, (height, width, 4)."""
    def save(self, path: _Path, *, force: bool = False) -> None: ...
    def _repr_png_(self) -> bytes: ...

@final
class Body:
    """A layered body, and the measures of the function that created it.

    >>> body.metrics["fem_elements"] > 0
    True
    """

    @property
    def clips(self) -> list[str]: ...
    @property
    def points(self) -> NDArray[np.float32]: ...
    @property
    def faces(self) -> NDArray[np.uint32]: ...
    @property
    def thickness(self) -> NDArray[np.float32]:
        """Relative depth of the flesh under each point."""
    @property
    def stiffness(self) -> NDArray[np.float32]:
        """Young's modulus under each point, in pascals."""
    @property
    def metrics(self) -> dict[str, Any]: ...
    @property
    def notes(self) -> list[str]: ...
    def save(self, path: _Path, *, force: bool = False) -> list[str]: ...

@final
class Simulation:
    """A simulated motion: an iterator over frames of shape (points, 3).

    >>> points = next(dermis.simulate(body, settle=0.05))
    """

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

@final
class Viewer:
    """A running viewer; notebooks show its page.

    >>> with dermis.view(skin, open_browser=False) as viewer:
    ...     address = viewer.url
    """

    @property
    def url(self) -> str: ...
    def close(self) -> None:
        """Stop the viewer."""
    def wait(self) -> None:
        """Wait until Ctrl-C is pressed, then stop the viewer."""
    def __enter__(self) -> Viewer: ...
    def __exit__(self, *_exception: object) -> None: ...
    def _repr_html_(self) -> str: ...

def defaults() -> dict[str, dict[str, Any]]:
    """Return the defaults of the options of each function.

    >>> dermis.defaults()["make_levels"]["ratios"]
    [0.5, 0.25, 0.1]
    """

def load(path: _Path, *, fps: float | None = None, scale: float | None = None) -> Scene:
    """Read a file, or a sample such as "sample:gallop".

    `fps` is the frame rate of files that contain none; `scale` multiplies all lengths.

    >>> walk = dermis.load("sample:gallop").sequence()
    """

def save(what: _Input | Packed, path: _Path, *, force: bool = False) -> list[str]:
    """Write a scene, a model, a skin, an object, a sequence, a simulation or a body; returns the notes of the writer.

    >>> dermis.save(skin, "walk.glb")
    []
    """

def select(
    scene: _Input,
    *,
    mesh: str | None = None,
    clip: str | None = None,
    frames: str | None = None,
    fps: float | None = None,
    rest_frame: int | None = None,
) -> Scene:
    """Return a part of a scene: meshes, a clip and frames by name, resampled to `fps`.

    `frames` is a half-open range as in "10:40:2". `rest_frame` is the frame that becomes the rest pose.

    >>> len(dermis.select(walk, frames="10:40:2").sequence())
    15
    """

def inspect(scene: _Input, *, progress: _Progress = None) -> dict[str, Any]:
    """Return counts, bounds, motions and problems of a scene.

    >>> dermis.inspect(walk)["objects"][0]["closed"]
    True
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
    the rotation tolerance of mean shift, which selects the number of bones by default. `rank` is the number of
    corrections; `rank_error` selects the fewest corrections within this distortion, in percent. `influences` is the
    maximum number of bones per point. `bone_model` is "rigid", "scaled" or "flexible"; `skeleton` is "fixed" or "free".
    `refine` is the maximum number of refinement iterations; a larger `smoothness` gives smoother weights. `progress` is
    True for a progress bar, or a function of (stage, done, total) that returns False to stop with the best result so
    far.

    >>> skin = dermis.fit_skin(walk, bones=8, rank=2, refine=4)
    """

def fit_rig(
    rig: _Input,
    sequence: MeshSequence | Sequence[MeshSequence],
    *,
    helpers: int | None = None,
    rotations_only: bool | None = None,
    lock_weights: bool | None = None,
    clips: Sequence[str] | None = None,
    rank: int | None = None,
    rank_error: float | None = None,
    influences: int | None = None,
    bone_model: str | None = None,
    smoothness: float | None = None,
    refine: int | None = None,
    keep_rest: bool | None = None,
    progress: _Progress = None,
) -> Skin:
    """Fit the weights of an existing rig, and `helpers` additional bones, to one or more sequences of its mesh.

    `rotations_only` solves the motion of the joints from the frames instead of using clips; `lock_weights` keeps the
    weights. `clips` are the clips of the rig that move it in the sequences. The other options are those of `fit_skin`.

    >>> skin = dermis.fit_rig(arm, arm.sequence(), helpers=2, refine=4)
    """

def train_envelope(
    rig: _Input,
    targets: MeshSequence | None = None,
    *,
    clip: str | None = None,
    mesh: str | None = None,
    frames: str | None = None,
    smoothness: float | None = None,
    retained_variance: float | None = None,
    influences: int | None = None,
    underlying: str | None = None,
    fade: bool | None = None,
    progress: _Progress = None,
) -> Model:
    """Learn multi-weights from the poses of a rig and the shapes that the skin should have in them.

    `targets` are the shapes; by default, those recorded in the file of the rig. `frames` selects frames of the clip, as
    in "0:100:4,120". `smoothness` is selected by cross-validation if it is not given. `underlying` is the skin that is
    refined: "best" (fitted weights with at most `influences` bones per point), "rig" (those of the rig), "rigid" or
    "auto". `fade` returns to the linear skin beyond the rotations of the examples.

    >>> model = dermis.train_envelope(arm, frames="::12", smoothness=1e-6)
    """

def rigged_mesh(
    faces: ArrayLike,
    points: ArrayLike,
    *,
    weights: Any,
    bind: ArrayLike,
    transforms: ArrayLike,
    parents: Sequence[int | None] | None = None,
    joints: Sequence[str] | None = None,
    shapes: ArrayLike | None = None,
    shape_weights: ArrayLike | None = None,
    frames: ArrayLike | None = None,
    fps: float = 24.0,
    name: str = "mesh",
    clip: str = "clip",
    up: str = "y",
) -> Scene:
    """Create a rigged mesh with one clip from arrays.

    `weights` has the shape (points, joints) and can be sparse; `bind` (joints, 4, 4) and `transforms` (frames, joints,
    4, 4) are world transforms; `shapes` (shapes, points, 3) and `shape_weights` (frames, shapes) are blend shapes;
    `frames` (frames, points, 3) are recorded shapes, from which `train_envelope` learns. `up` is "x", "y" or "z".

    >>> part = arm.objects[0]
    >>> again = dermis.rigged_mesh(
    ...     part.faces, part.points, weights=part.weights, bind=part.bind, transforms=part.transforms()
    ... )
    """

def corrective_shapes(model: _Input, *, count: int | None = None, max_influences: int | None = None) -> Model:
    """Replace the layers of a rigged mesh with at most `count` blend shapes with animated weights.

    >>> shaped = dermis.corrective_shapes(dermis.keep_volume(arm), count=4)
    >>> shaped.scene.objects[0].basis.shape[0]
    4
    """

def factor_transforms(
    transforms: ArrayLike,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Factor affine transforms of shape (frames, bones, 4, 4) for programs whose bones cannot shear.

    Three nested bones with the factors T·R, V·S and V⁻¹ have the given transform, continuous from frame to frame. The
    result consists of the translations T, the quaternions (w, x, y, z) of R and of V, and the scales S.

    >>> translations, rotations, axes, scales = dermis.factor_transforms(skin.transforms())
    """

def keep_volume(
    model: _Input,
    *,
    mode: str | None = None,
    cap: bool | None = None,
    target: float | Sequence[tuple[float, float]] | None = None,
    effects: str | None = None,
    attribute: str | None = None,
    progress: _Progress = None,
) -> Model:
    """Preserve the volume of a rigged character in all clips, or of recorded frames.

    `mode` is "exact", "fast" or "global"; `cap` closes holes for the computation. `target` is the volume relative to that
    of the rest pose, or a list of (seconds, factor). `effects` is TOML text with the effects near joints; `attribute`
    weights the points.

    >>> notes = dermis.keep_volume(arm).save("arm-volume.glb")
    """

def wrinkle(
    cloth: _Input,
    *,
    rest: ArrayLike | None = None,
    subdivide: int | None = None,
    coarsen: int | None = None,
    folds: str | None = None,
    min_radius: float | None = None,
    threshold: float | None = None,
    fade_frames: float | None = None,
    smoothing: float | None = None,
    max_length: float | None = None,
    progress: _Progress = None,
) -> Model:
    """Add wrinkles to the regions of a cloth that are compressed relative to `rest`, by default its rest pose.

    `folds` is "buckled" or "curves". `subdivide` is the number of times that triangles are divided into four; `coarsen`
    first simplifies the cloth to this number of triangles.

    >>> folded = dermis.wrinkle(dermis.select(dermis.load("sample:towel"), frames="0:3"), subdivide=1)
    """

def make_levels(
    model: _Input, *, ratios: Sequence[float] | None = None, max_poses: int | None = None, progress: _Progress = None
) -> Model:
    """Add levels of detail with these fractions of the triangles.

    >>> levels = dermis.make_levels(skin, ratios=[0.5, 0.1])
    """

def edit(
    model: _Input,
    edited: _Input | ArrayLike | None = None,
    *,
    map: _Path | None = None,
    scale: float | None = None,
    mid_level: float | None = None,
    mesh: str | None = None,
    progress: _Progress = None,
) -> Model:
    """Edit the rest pose of a model, which all frames and clips follow.

    `edited` is the edited mesh, or its points. Otherwise `map` is a displacement map (PNG) whose white pixels displace the
    skin by `scale` metres.

    >>> wider = dermis.edit(skin, skin.rest * [1.1, 1, 1])
    """

def pose_model(
    model: _Input,
    motion: _Input | None = None,
    *,
    mesh: str | None = None,
    clip: str | None = None,
    frames: str | None = None,
    fps: float | None = None,
    base: bool = False,
    joint_map: Mapping[str, str] | None = None,
) -> Model:
    """Play a clip of a model, or one of `motion`, with the skin, blend shapes and layers of the model.

    Joints are matched by name; `joint_map` has the names of joints of the motion by those of the model. `base` omits
    layers.

    >>> posed = dermis.pose_model(arm, frames="0:10")
    """

def collide(
    first: _Input,
    second: _Input,
    *,
    clip: str | None = None,
    other_clip: str | None = None,
    offset: tuple[float, float, float] = ...,
    progress: _Progress = None,
) -> dict[str, Any]:
    """Find the contacts of two models in every frame.

    >>> dermis.collide(skin, skin, offset=(9, 0, 0))["frames"]
    []
    """

def bake_light(
    model: _Input,
    *,
    order: int | None = None,
    rays: int | None = None,
    rank: int | None = None,
    method: str | None = None,
    ground: float | str | None = None,
    sun: tuple[float, float, float] | None = None,
    clip: str | None = None,
    transfer: _Path | None = None,
    force: bool = False,
    progress: _Progress = None,
) -> Model:
    """Precompute the lighting of a model: its colours are multiplied by the ambient occlusion.

    `method` is "svd" or "nmf"; `ground` is "lowest", "none" or a height. The reduced transfer is written to the archive
    `transfer`.

    >>> lit = dermis.bake_light(dermis.select(walk, frames="0:2"), rays=16, order=2)
    """

def pack(
    model: _Input,
    *,
    error: float | None = None,
    size: int | None = None,
    shape_normals: bool | None = None,
    keep_order: bool | None = None,
    progress: _Progress = None,
) -> Packed:
    """Pack a model: the smallest glTF file within a distortion in percent, or the most accurate within a size in bytes.

    >>> dermis.pack(skin, error=0.5).save("walk-packed.glb")
    []
    """

def render(
    what: _Input | list[Any],
    *,
    look: str | None = None,
    view: str | None = None,
    frame: int | str | None = None,
    clip: str | None = None,
    reference: _Input | None = None,
    labels: Sequence[str] | None = None,
    width: int | None = None,
    height: int | None = None,
    columns: int | None = None,
    backdrop: str | None = None,
    floor: bool | None = None,
    wireframe: bool | None = None,
    skeleton: bool | None = None,
    shading: str | None = None,
    same_scale: bool | None = None,
    heat_max: float | None = None,
    progress: _Progress = None,
) -> Picture:
    """Draw a model, or a list of models next to each other.

    `look` is "material", "clay", "normals", "bones", or a quantity: "error" (relative to `reference`), "volume",
    "layers", "weight:JOINT" or "attribute:NAME". `view` is a direction such as "left", or "AZIMUTH,ELEVATION[,ZOOM]" in
    degrees; `frame` is a number or "rest"; `backdrop` is "light", "dark", "transparent" or "#rrggbb"; `shading` is
    "file", "smooth" or "flat".

    >>> dermis.render([walk, skin], frame=8, width=320, height=120).save("walk.png")
    """

def build_body(
    source: _Path,
    *,
    mesh: str | None = None,
    rig: str | None = None,
    thickness: ArrayLike | None = None,
    stiffness: ArrayLike | None = None,
    poisson_ratio: float | None = None,
    density: float | None = None,
    damping: float | None = None,
    progress: _Progress = None,
) -> Body:
    """Build a layered body from a file, or read a body that has already been built.

    `rig` is "human" to fit a skeleton, or a file with joints. `thickness` is the relative depth of the flesh and
    `stiffness` its Young's modulus in pascals: a number, or one per point. `density` is in kilograms per cubic metre,
    `damping` per second.

    >>> body = dermis.build_body("sample:body")
    """

def simulate(
    body: Body,
    *,
    clip: str | None = None,
    substeps: int | None = None,
    settle: float | None = None,
    tolerance: float | None = None,
    all_elements: bool | None = None,
    betas: Sequence[float] | None = None,
) -> Simulation:
    """Simulate the flesh of a body in one of its clips. Frames are simulated when they are read or saved.

    `settle` is the time to settle before the first frame, in seconds; `substeps` the number of steps per frame; `betas`
    are the shape coefficients of the body.

    >>> for points in dermis.simulate(body, clip=body.clips[0], settle=0.05):
    ...     break
    """

def sample_scans(
    folder: _Path,
    *,
    subject: str | None = None,
    seed: int | None = None,
    force: bool = False,
    progress: _Progress = None,
) -> list[str]:
    """Generate scans of a "heavy", "average" or "slim" subject of sample:body; the last file is the hidden truth.

    >>> files = dermis.sample_scans("scans", subject="heavy")  # doctest: +SKIP
    """

def fit_tissue(
    body: Body,
    scans: _Path | Sequence[_Path] | Sequence[MeshSequence],
    *,
    subject: str | None = None,
    train: Sequence[str] | None = None,
    method: str | None = None,
    iterations: int | None = None,
    points: int | None = None,
    frames: int | None = None,
    rest_shape: str | None = None,
    symmetric: bool | None = None,
    checkpoint: _Path | None = None,
    resume: bool = False,
    progress: _Progress = None,
) -> Body:
    """Learn the layers, stiffness and damping of a subject from scans: files, folders of files, or sequences.

    `train` are the names of the training sequences; the others are held out. `method` is "adjoint" or "paper";
    `rest_shape` is "inverse-static", "inverse-gravity" or "none". `points` is the number of representative points, and
    `frames` the number of frames per training sequence. `checkpoint` stores the state after every iteration, and
    `resume` continues from it.

    >>> heavy = dermis.fit_tissue(body, "scans", iterations=5)  # doctest: +SKIP
    """

def validate_tissue(
    body: Body,
    scans: _Path | Sequence[_Path] | Sequence[MeshSequence],
    *,
    subject: str | None = None,
    train: Sequence[str] | None = None,
    truth: _Path | None = None,
    progress: _Progress = None,
) -> dict[str, Any]:
    """Compare a fitted body with scans: the mean amplitude deviation of each sequence.

    `truth` is the hidden truth of generated scans.

    >>> found = dermis.validate_tissue(heavy, "scans", train=["running"])  # doctest: +SKIP
    """

def fit_beam(
    path: _Path, *, poisson_ratio: float | None = None, substeps: int | None = None, iterations: int | None = None
) -> dict[str, Any]:
    """Identify the stiffness and damping of a recorded beam.

    >>> dermis.fit_beam("beam.npz")["young_modulus_pa"]  # doctest: +SKIP
    """

def serve(
    *what: _Input | _Path, port: int = 0, paint: str | None = None, output: _Path | None = None, force: bool = False
) -> Viewer:
    """Start a viewer without opening it; `view` also opens it.

    >>> dermis._dermis.serve(walk).close()
    """
