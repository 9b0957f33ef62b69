"""Learn, correct and bake the skin of animated characters with dermis."""

from __future__ import annotations

import bpy

from . import operators, panel

CLASSES = (*operators.CLASSES, *panel.CLASSES)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.VIEW3D_MT_object.append(panel.draw_menu)


def unregister() -> None:
    bpy.types.VIEW3D_MT_object.remove(panel.draw_menu)
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
