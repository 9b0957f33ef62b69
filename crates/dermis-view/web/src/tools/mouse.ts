// Mouse input on the canvas: clicks select points, strokes control the brush and the flesh tools, drags the camera.

import type { Ray } from "three";
import type { PointPanel } from "../ui/pointpanel";
import type { CrowdPanel } from "../ui/crowdpanel";
import type { View, Viewer } from "../viewer";
import type { Brush } from "./brush";
import type { FleshTool } from "./flesh";
import { hitTest } from "./pick";

/** Maximum motion of a click, in pixels. */
const CLICK_DISTANCE = 4;

export function listenToMouse(
  viewer: Viewer,
  brush: Brush,
  flesh: FleshTool,
  crowd: CrowdPanel,
  panel: PointPanel,
): void {
  const { canvas, controls } = viewer.stage;
  let from: { x: number; y: number } | null = null;
  let stroke: "brush" | "flesh" | null = null;
  const under = (event: PointerEvent): { view: View | null; ray: Ray } => {
    const { ray, view } = viewer.stage.ray(event, viewer.columns.length);
    return { view: viewer.columns[view] ?? null, ray };
  };
  const dab = (event: PointerEvent): boolean => {
    const { view, ray } = under(event);
    const obstacle = view && brush.obstacle(view);
    if (obstacle && !stroke) viewer.say(obstacle);
    if (!view || obstacle) return false;
    const hit = brush.dab(view, ray, event.altKey, !stroke);
    // The edited view becomes the active one, which is saved.
    if (hit && !stroke) viewer.activate(viewer.views.indexOf(view));
    return hit;
  };
  const press = (event: PointerEvent): typeof stroke => {
    if (brush.mode !== "off") return dab(event) ? "brush" : null;
    const { view, ray } = under(event);
    if (!flesh.press(view, ray, event.altKey)) return null;
    viewer.activate(viewer.views.indexOf(view!));
    return "flesh";
  };
  canvas.addEventListener(
    "pointerdown",
    (event) => {
      from = { x: event.clientX, y: event.clientY };
      if (event.button !== 0 || crowd.crowd || stroke) return;
      stroke = press(event);
      controls.enabled = !stroke;
      if (stroke) canvas.setPointerCapture(event.pointerId);
    },
    { capture: true },
  );
  canvas.addEventListener("pointermove", (event) => {
    if (stroke === "brush") dab(event);
    else if (stroke === "flesh") flesh.drag(under(event).ray, event.altKey);
    else if (event.buttons === 0 && !crowd.crowd) {
      const { view, ray } = under(event);
      if (brush.mode !== "off") brush.hover(view, ray);
      else flesh.hover(view, ray);
    }
  });
  canvas.addEventListener("pointerleave", () => {
    brush.leave();
    flesh.leave();
  });
  const end = (): typeof stroke => {
    controls.enabled = true;
    const ended = stroke;
    stroke = null;
    if (ended === "flesh") flesh.release();
    if (ended === "brush") brush.end();
    return ended;
  };
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerup", (event) => {
    const ended = end();
    const still = from && Math.hypot(event.clientX - from.x, event.clientY - from.y) < CLICK_DISTANCE;
    const selects = ended === null || (ended === "flesh" && flesh.mode === "pull");
    if (!selects || !still || event.button !== 0 || crowd.crowd) return;
    const { view, ray } = under(event);
    // Bones are drawn over the surface, so they are selected first.
    const bone = view && viewer.boneUnder(view, ray);
    if (view && typeof bone === "number") {
      viewer.activate(viewer.views.indexOf(view));
      viewer.selectBone(view.model, bone);
      return;
    }
    const hit = view && hitTest(view.model, viewer.positions(view), ray);
    if (!view || !hit) return;
    viewer.activate(viewer.views.indexOf(view));
    panel.select(view, hit.point);
  });
}
