// Names of the shown views, each above its view.

import { cells } from "../stage";
import type { View, Viewer } from "../viewer";
import { el } from "./dom";
import { onlyWhenChanged } from "./panels";

export function labels(viewer: Viewer): HTMLElement {
  const box = el("div", { className: "labels" });
  const name = (view: View): string =>
    view.tag === "fit + corrections" ? `${view.label}, rank ${viewer.rankOf(view)}` : view.label;
  const show = (): void => {
    const { columns, active } = viewer;
    const areas = cells(columns.length);
    const spans = columns.map((view, at) => {
      const span = el("span", { textContent: name(view) });
      if (columns.length > 1 && view === active) span.className = "active";
      const { left, top, width } = areas[at]!;
      Object.assign(span.style, { left: `${100 * left}%`, top: `${100 * top}%`, width: `${100 * width}%` });
      return span;
    });
    box.replaceChildren(...spans);
  };
  onlyWhenChanged(viewer, () => JSON.stringify([viewer.columns.map(name), viewer.active?.id]), show);
  return box;
}
