"""Checks USD files with Pixar's own library (`pip install usd-core numpy`).

usd_check.py check FILE.usda EXPECTED.npz   the file opens, passes all validators, and its points (skinning applied, in
                                            world space) are those of EXPECTED at every frame, to 1e-5 of the bounding box
usd_check.py validate FILE                  the file opens and passes all validators
usd_check.py frames FILE OUT.npz            writes the world-space points of every mesh and frame, skinning applied

An .npz holds, for the mesh number k in the stage's order, `frames_k` [S, N, 3] and `times_k` [S] in time codes. A file
with one mesh may call it `frames`, as `dermis convert` does. Time codes are those at which anything above or in the
mesh has a sample.
"""

import sys

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdSkel, UsdValidation, Vt

TOLERANCE = 1e-5


def validate(stage):
    """The errors of all registered validators."""
    registry = UsdValidation.ValidationRegistry()
    validators = registry.GetOrLoadAllValidators()
    context = UsdValidation.ValidationContext(validators)
    errors = context.Validate(stage)
    return [f"{error.GetName()}: {error.GetMessage()}" for error in errors]


def sample_times(prim):
    """The time codes that the points of `prim` in the world depend on."""
    times = set()
    attributes = [UsdGeom.Mesh(prim).GetPointsAttr()]
    skeleton = UsdSkel.BindingAPI(prim).GetInheritedSkeleton()
    followed = [prim]
    if skeleton and UsdSkel.Root.Find(prim):
        followed = [skeleton.GetPrim()]
        source = UsdSkel.BindingAPI(skeleton.GetPrim()).GetInheritedAnimationSource()
        if source:
            animation = UsdSkel.Animation(source)
            has_joints = bool(UsdSkel.BindingAPI(prim).GetJointIndicesPrimvar())
            if has_joints:
                attributes += [animation.GetTranslationsAttr(), animation.GetRotationsAttr(), animation.GetScalesAttr()]
            else:
                followed = [prim]
            if UsdSkel.BindingAPI(prim).GetBlendShapesAttr().HasAuthoredValue():
                attributes.append(animation.GetBlendShapeWeightsAttr())
    for start in followed:
        above = start
        while above and not above.IsPseudoRoot():
            xformable = UsdGeom.Xformable(above)
            if xformable:
                attributes += [op.GetAttr() for op in xformable.GetOrderedXformOps()]
                if xformable.GetResetXformStack():
                    break
            above = above.GetParent()
    for attribute in attributes:
        samples = attribute.GetTimeSamples() if attribute else []
        if len(samples) > 1:
            times.update(samples)
    return sorted(times) or [0.0]


def frames(stage):
    """For each mesh: its path, its time codes, and its points in the world at each of them."""
    meshes = [prim for prim in stage.Traverse(Usd.TraverseInstanceProxies()) if prim.IsA(UsdGeom.Mesh)]
    times = {prim.GetPath(): sample_times(prim) for prim in meshes}
    baked = Usd.Stage.Open(stage.Flatten())
    everything = sorted({time for of_mesh in times.values() for time in of_mesh})
    for prim in list(baked.Traverse()):
        if prim.IsA(UsdSkel.Root):
            # The baked interval must contain every time that is compared.
            interval = Gf.Interval(everything[0] - 1, everything[-1] + 1)
            assert UsdSkel.BakeSkinning(UsdSkel.Root(prim), interval), f"skinning of {prim.GetPath()} cannot be baked"
    result = []
    for path, of_mesh in times.items():
        mesh = UsdGeom.Mesh(baked.GetPrimAtPath(path))
        points = []
        for time in of_mesh:
            local = np.array(mesh.GetPointsAttr().Get(time), dtype=np.float64)
            world = np.array(UsdGeom.XformCache(time).GetLocalToWorldTransform(mesh.GetPrim()))
            points.append(local @ world[:3, :3] + world[3, :3])
        result.append((str(path), np.array(of_mesh), np.array(points)))
    return result


def check(stage, expected):
    """The worst distance of each mesh to what is expected, relative to its bounding box."""
    found = frames(stage)
    problems = []
    for index, (path, times, points) in enumerate(found):
        key = f"frames_{index}"
        if key not in expected and len(found) == 1:
            key = "frames"
        wanted = expected[key].astype(np.float64)
        if wanted.shape != points.shape:
            problems.append(f"{path}: {points.shape} points, expected {wanted.shape}")
            continue
        flat = wanted.reshape(-1, 3)
        diagonal = np.linalg.norm(flat.max(axis=0) - flat.min(axis=0)) or 1.0
        worst = np.linalg.norm(points - wanted, axis=-1).max() / diagonal
        print(f"{path}: {points.shape[0]} frames, {points.shape[1]} points, worst {worst:.2e} of the bounding box")
        if worst > TOLERANCE:
            problems.append(f"{path}: off by {worst:.2e} of the bounding box")
    return problems


def main():
    mode, path = sys.argv[1:3]
    stage = Usd.Stage.Open(path)
    assert stage, f"{path} does not open"
    if mode == "frames":
        arrays = {}
        for index, (name, times, points) in enumerate(frames(stage)):
            print(f"{index}: {name}: {points.shape}")
            arrays |= {f"frames_{index}": points.astype(np.float32), f"times_{index}": times, f"name_{index}": name}
        np.savez(sys.argv[3], **arrays)
        return 0
    problems = validate(stage)
    if mode == "check":
        problems += check(stage, np.load(sys.argv[3]))
    for problem in problems:
        print("PROBLEM", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
