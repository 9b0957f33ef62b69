"""What OpenUSD makes of a file: the world positions of a mesh's points at given times, and the validators' verdict.

    python usd_points.py JOBS.json

A job is {"file", "seconds": [times] (or null: only validate), "mesh" (part of the prim's path, or null where there is
only one), "out": "….npz"}. Its answer, one line of JSON on standard output, says the meshes found and what the
validators complain about. `out` receives `points` float64 [times, N, 3], `sizes` and `corners` of the polygons.
"""

import json
import sys
import traceback

import numpy as np
from pxr import Usd, UsdGeom, UsdSkel, UsdValidation


def run(job):
    stage = Usd.Stage.Open(job["file"])
    meshes = [prim for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
    answer = {
        "meshes": [str(prim.GetPath()) for prim in meshes],
        "frames_per_second": stage.GetTimeCodesPerSecond(),
        "complaints": complaints(stage),
    }
    if job.get("seconds") is not None:
        prim = pick(meshes, job.get("mesh"))
        times = [Usd.TimeCode(seconds * stage.GetTimeCodesPerSecond()) for seconds in job["seconds"]]
        mesh = UsdGeom.Mesh(prim)
        np.savez(
            job["out"],
            points=points_at(prim, times),
            sizes=np.array(mesh.GetFaceVertexCountsAttr().Get()),
            corners=np.array(mesh.GetFaceVertexIndicesAttr().Get()),
        )
    return answer


def complaints(stage):
    registry = UsdValidation.ValidationRegistry()
    context = UsdValidation.ValidationContext(registry.GetOrLoadAllValidators())
    return [f"{error.GetIdentifier()}: {error.GetMessage()}" for error in context.Validate(stage)]


def pick(meshes, name):
    meshes = [prim for prim in meshes if name is None or name in str(prim.GetPath())]
    if len(meshes) != 1:
        raise ValueError(f"{len(meshes)} meshes match {name!r}")
    return meshes[0]


def points_at(prim, times):
    skinning = skinning_of(prim)
    frames = []
    for time in times:
        points = UsdGeom.Mesh(prim).GetPointsAttr().Get(time)
        placed = prim
        if skinning:
            # Skinned points are in the space of the skeleton, not of the mesh.
            query, skeleton = skinning
            transforms = skeleton.ComputeSkinningTransforms(time)
            if not query.ComputeSkinnedPoints(transforms, points, time):
                raise ValueError(f"{prim.GetPath()} could not be skinned")
            placed = skeleton.GetPrim()
        # Row vectors: p' = p M.
        world = np.array(UsdGeom.XformCache(time).GetLocalToWorldTransform(placed))
        frames.append(np.array(points, dtype=np.float64) @ world[:3, :3] + world[3, :3])
    return np.stack(frames)


def skinning_of(prim):
    root = UsdSkel.Root.Find(prim)
    if not root:
        return None
    cache = UsdSkel.Cache()
    cache.Populate(root, Usd.PrimDefaultPredicate)
    query = cache.GetSkinningQuery(prim)
    if not query or not query.HasJointInfluences():
        return None
    skeleton = cache.GetSkelQuery(UsdSkel.BindingAPI(prim).GetInheritedSkeleton())
    return (query, skeleton) if skeleton else None


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        jobs = json.load(file)
    for job in jobs:
        try:
            answer = run(job)
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), flush=True)


main()
