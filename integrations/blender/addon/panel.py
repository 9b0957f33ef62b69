"""The menu, and the panel with the operators and the measures of the active object."""

from __future__ import annotations

import json

import bpy

from .operators import CLASSES as OPERATORS
from .operators import METRICS

# Measures and their labels in the panel.
LABELS = {
    "bones": "Bones",
    "rank": "Corrections",
    "distortion_percent": "Distortion (%)",
    "max_error_percent": "Largest error (%)",
    "compression": "Compression",
    "rms_error": "RMS error",
    "linear_rms_error": "RMS error, linear skin",
    "shape_rms_error": "RMS error, shape keys",
    "drift_before": "Volume drift before",
    "drift_after": "Volume drift after",
    "intersections_before": "Intersections before",
    "intersections_after": "Intersections after",
    "area_lost_before": "Area lost before",
    "area_lost_after": "Area lost after",
    "popping": "Popping",
}


class DERMIS_MT_menu(bpy.types.Menu):
    bl_idname = "DERMIS_MT_menu"
    bl_label = "dermis"

    def draw(self, _context: bpy.types.Context) -> None:
        for operator in OPERATORS:
            self.layout.operator(operator.bl_idname)


class DERMIS_PT_panel(bpy.types.Panel):
    bl_idname = "DERMIS_PT_panel"
    bl_label = "dermis"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "dermis"

    def draw(self, context: bpy.types.Context) -> None:
        column = self.layout.column(align=True)
        for operator in OPERATORS:
            column.operator(operator.bl_idname)
        title, rows = measures(context.active_object)
        if not rows:
            return
        box = self.layout.box()
        box.label(text=title)
        for label, value in rows:
            row = box.row()
            row.label(text=label)
            row.label(text=value)


def measures(thing: bpy.types.Object | None) -> tuple[str, list[tuple[str, str]]]:
    """Title and rows of the measures that an operator has stored on an object."""
    if thing is None or METRICS not in thing:
        return "", []
    stored = json.loads(thing[METRICS])
    rows = [(label, f"{stored[name]:.4g}") for name, label in LABELS.items() if name in stored]
    return stored["title"], rows


def draw_menu(self: bpy.types.Menu, _context: bpy.types.Context) -> None:
    self.layout.separator()
    self.layout.menu(DERMIS_MT_menu.bl_idname)


CLASSES = (DERMIS_MT_menu, DERMIS_PT_panel)
