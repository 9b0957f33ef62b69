"""Learn, correct and simulate the skin of animated characters."""

from __future__ import annotations

from . import _dermis, batch
from ._dermis import (
    Body,
    Error,
    FileError,
    InputError,
    MeshSequence,
    Model,
    Object,
    Packed,
    Picture,
    Scene,
    Simulation,
    Skin,
    Viewer,
    WorkError,
    __version__,
    defaults,
    factor_transforms,
    inspect,
    rigged_mesh,
    save,
    select,
)
from ._options import with_defaults
from ._plot import plot_errors
from ._view import view

# Functions whose signatures show the defaults of the Rust library.
bake_light = with_defaults(_dermis.bake_light)
build_body = with_defaults(_dermis.build_body)
collide = with_defaults(_dermis.collide)
corrective_shapes = with_defaults(_dermis.corrective_shapes)
edit = with_defaults(_dermis.edit)
fit_beam = with_defaults(_dermis.fit_beam)
fit_rig = with_defaults(_dermis.fit_rig)
fit_skin = with_defaults(_dermis.fit_skin)
fit_tissue = with_defaults(_dermis.fit_tissue)
keep_volume = with_defaults(_dermis.keep_volume)
load = with_defaults(_dermis.load)
make_levels = with_defaults(_dermis.make_levels)
pack = with_defaults(_dermis.pack)
pose_model = with_defaults(_dermis.pose_model)
render = with_defaults(_dermis.render)
sample_scans = with_defaults(_dermis.sample_scans)
simulate = with_defaults(_dermis.simulate)
train_envelope = with_defaults(_dermis.train_envelope)
validate_tissue = with_defaults(_dermis.validate_tissue)
wrinkle = with_defaults(_dermis.wrinkle)

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
    "batch",
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
    "plot_errors",
    "pose_model",
    "render",
    "rigged_mesh",
    "sample_scans",
    "save",
    "select",
    "simulate",
    "train_envelope",
    "validate_tissue",
    "view",
    "wrinkle",
]
