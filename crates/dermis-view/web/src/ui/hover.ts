// Name of the bone under the mouse, next to the pointer.

import type { Viewer } from "../viewer";
import { el } from "./dom";

export function boneNames(viewer: Viewer, box: HTMLElement): void {
  const { canvas } = viewer.stage;
  const label = el("div", { className: "bone-name", hidden: true });
  box.append(label);
  let last: PointerEvent | null = null;
  const show = (): void => {
    const event = last;
    last = null;
    if (!event) return;
    const { ray, view: column } = viewer.stage.ray(event, viewer.columns.length);
    const view = event.buttons === 0 ? viewer.columns[column] : undefined;
    const bone = view ? viewer.boneUnder(view, ray) : null;
    set(view && bone !== null ? { model: view.model, bone } : null);
    if (!view || bone === null) return;
    const rect = box.getBoundingClientRect();
    label.textContent = view.model.info.bones[bone]?.name || `bone ${bone}`;
    Object.assign(label.style, { left: `${event.clientX - rect.left + 14}px`, top: `${event.clientY - rect.top + 10}px` });
  };
  const set = (hovered: typeof viewer.state.hovered): void => {
    label.hidden = hovered === null;
    const before = viewer.state.hovered;
    if (before?.model === hovered?.model && before?.bone === hovered?.bone) return;
    viewer.state.hovered = hovered;
    viewer.changed();
  };
  canvas.addEventListener("pointermove", (event) => {
    if (!viewer.state.look.bones) return;
    if (!last) requestAnimationFrame(show);
    last = event;
  });
  canvas.addEventListener("pointerleave", () => set(null));
  viewer.listen(() => {
    if (!viewer.state.look.bones && viewer.state.hovered) set(null);
  });
}
