"""Reads a file with OpenUSD: writes the world positions of a mesh at given times and reports the validators' messages.

    python usd_points.py JOBS.json

A job is {"file", "seconds": [times], "mesh" (part of the prim's path, or null if there is only one), "out": "….npz",
"same_as" (another file with the same layer, or null)}. The answer, one line of JSON on standard output, lists the meshes
and the messages of the validators. `out` receives `points` float64 [times, N, 3], `sizes` and `corners` of the polygons.
"""

import sys

import numpy as np
from jobs import answer_all
from pxr import Sdf, Usd, UsdGeom, UsdSkel, UsdValidation


def validate(stage):
    """Messages of all validators of OpenUSD."""
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    complaints = UsdValidation.ValidationContext(validators).Validate(stage)
    return [f"{complaint.GetName()}: {complaint.GetMessage()}" for complaint in complaints]


def run(job):
    stage = Usd.Stage.Open(job["file"])
    meshes = [prim for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
    prim = pick(meshes, job.get("mesh"))
    times = [Usd.TimeCode(seconds * stage.GetTimeCodesPerSecond()) for seconds in job["seconds"]]
    mesh = UsdGeom.Mesh(prim)
    skinning = skinning_of(prim)
    np.savez(
        job["out"],
        points=np.stack([points_at(prim, skinning, time) for time in times]),
        sizes=np.array(mesh.GetFaceVertexCountsAttr().Get()),
        corners=np.array(mesh.GetFaceVertexIndicesAttr().Get()),
    )
    answer = {"meshes": [str(prim.GetPath()) for prim in meshes], "complaints": validate(stage)}
    if job.get("same_as"):
        answer["same"] = stage.GetRootLayer().ExportToString() == Sdf.Layer.FindOrOpen(job["same_as"]).ExportToString()
    return answer


def pick(meshes, name):
    matching = [prim for prim in meshes if name is None or name in str(prim.GetPath())]
    if len(matching) != 1:
        raise ValueError(f"{len(matching)} of {len(meshes)} meshes match {name!r}")
    return matching[0]


def skinning_of(prim):
    """The queries for the deformation of the mesh: its own and that of its skeleton."""
    root = UsdSkel.Root.Find(prim)
    if not root:
        return None
    cache = UsdSkel.Cache()
    cache.Populate(root, Usd.PrimDefaultPredicate)
    query = cache.GetSkinningQuery(prim)
    skeleton = cache.GetSkelQuery(UsdSkel.BindingAPI(prim).GetInheritedSkeleton())
    return (cache, query, skeleton) if query and skeleton else None


def points_at(prim, skinning, time):
    points = UsdGeom.Mesh(prim).GetPointsAttr().Get(time)
    placed = prim
    if skinning:
        _, query, skeleton = skinning
        animation = skeleton.GetAnimQuery()
        if query.HasBlendShapes() and animation:
            blend(prim, query, animation, points, time)
        if query.HasJointInfluences():
            # Skinned points are in the space of the skeleton, not of the mesh.
            placed = skeleton.GetPrim()
            if not query.ComputeSkinnedPoints(skeleton.ComputeSkinningTransforms(time), points, time):
                raise ValueError(f"{prim.GetPath()} could not be skinned")
    # Row vectors: p' = p M.
    world = np.array(UsdGeom.XformCache(time).GetLocalToWorldTransform(placed))
    return np.array(points, dtype=np.float64) @ world[:3, :3] + world[3, :3]


def blend(prim, query, animation, points, time):
    shapes = UsdSkel.BlendShapeQuery(UsdSkel.BindingAPI(prim))
    weights = query.GetBlendShapeMapper().Remap(animation.ComputeBlendShapeWeights(time))
    sub_shapes = shapes.ComputeSubShapeWeights(weights)
    indices, offsets = shapes.ComputeBlendShapePointIndices(), shapes.ComputeSubShapePointOffsets()
    if not shapes.ComputeDeformedPoints(*sub_shapes, indices, offsets, points):
        raise ValueError(f"the shapes of {prim.GetPath()} could not be blended")


answer_all(run, sys.stdout)
