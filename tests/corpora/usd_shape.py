"""Bounds of the visible meshes of a USD stage, and reasons to reject it, computed with OpenUSD."""

import math
from functools import lru_cache

from pxr import Gf, Tf, Usd, UsdGeom, UsdSkel, UsdUtils, Vt

# Collects the warnings of OpenUSD, which are not about dermis.
DIAGNOSTICS = UsdUtils.CoalescingDiagnosticDelegate()
POINTS = (Vt.Vec3fArray, Vt.Vec3dArray, Vt.Vec3hArray)
HIDDEN_PURPOSES = (UsdGeom.Tokens.proxy, UsdGeom.Tokens.guide)


@lru_cache(maxsize=1)
def opened(path):
    try:
        return Usd.Stage.Open(path)
    except Tf.ErrorException:
        return None


def meshes(stage):
    """The meshes that a viewer shows, with points and faces."""
    for prim in stage.Traverse(Usd.TraverseInstanceProxies()):
        if not prim.IsA(UsdGeom.Mesh) or below_instancer(prim):
            continue
        imageable = UsdGeom.Imageable(prim)
        if imageable.ComputeVisibility(Usd.TimeCode.EarliestTime()) == UsdGeom.Tokens.invisible:
            continue
        if imageable.ComputePurpose() in HIDDEN_PURPOSES:
            continue
        mesh = UsdGeom.Mesh(prim)
        if changes(mesh.GetFaceVertexCountsAttr()) or changes(mesh.GetFaceVertexIndicesAttr()):
            continue
        points, counts = first(mesh.GetPointsAttr()), first(mesh.GetFaceVertexCountsAttr())
        corners = first(mesh.GetFaceVertexIndicesAttr())
        if not (isinstance(points, POINTS) and counts and corners and len(points)):
            continue
        if sum(counts) == len(corners) and max(corners) < len(points) and min(corners) >= 0:
            yield prim, points


def below_instancer(prim):
    """Returns whether the prim is a prototype, which is not drawn itself."""
    while prim:
        if prim.IsA(UsdGeom.PointInstancer):
            return True
        prim = prim.GetParent()
    return False


def changes(attribute):
    """Returns whether the topology changes over time; such a mesh is not a sequence."""
    values = [attribute.Get(time) for time in attribute.GetTimeSamples()]
    return any(value != values[0] for value in values)


def first(attribute):
    value = attribute.Get()
    return value if value is not None else attribute.Get(Usd.TimeCode.EarliestTime())


def rejection(path):
    """Reason why the stage cannot be read; `None` if it can."""
    stage = opened(str(path))
    if not stage:
        return "OpenUSD does not open it"
    found = [points for _, points in meshes(stage)]
    if not found:
        return "no visible mesh"
    return None if any(is_finite(points) for points in found) else "positions that are not numbers"


def is_finite(points):
    return all(math.isfinite(x) for point in points for x in point)


def bounds(path):
    """Returns the box around the visible meshes; `None` if there is none or if a skeleton moves one."""
    stage = opened(str(path))
    if not stage:
        return None
    cache = UsdGeom.XformCache(Usd.TimeCode.EarliestTime())
    low, high = [float("inf")] * 3, [float("-inf")] * 3
    for prim, points in meshes(stage):
        if UsdSkel.Root.Find(prim):
            return None
        world = cache.GetLocalToWorldTransform(prim)
        for point in points:
            at = world.Transform(Gf.Vec3d(point))
            low, high = [min(a, b) for a, b in zip(low, at)], [max(a, b) for a, b in zip(high, at)]
    return (low, high) if low[0] <= high[0] else None
