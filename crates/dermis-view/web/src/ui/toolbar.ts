// Tool bar: one tool at a time, for the surface (brush) or for simulated flesh. The panels show the options of the tool.

import type { Brush } from "../tools/brush";
import type { FleshTool } from "../tools/flesh";
import type { Viewer } from "../viewer";
import { button, el } from "./dom";
import { onlyWhenChanged } from "./panels";

/** Collects the buttons of the modes from the panels of brush and flesh. */
export function toolbar(
  viewer: Viewer,
  brush: Brush,
  flesh: FleshTool,
  panels: { brush: HTMLElement; flesh: HTMLElement },
): HTMLElement {
  const taken = (panel: HTMLElement, name: "brush" | "flesh"): HTMLButtonElement[] =>
    [...panel.querySelectorAll<HTMLButtonElement>(`[data-${name}]`)].filter((one) => one.dataset[name] !== "off");
  const [brushes, hands] = [taken(panels.brush, "brush"), taken(panels.flesh, "flesh")];
  const off = [panels.brush.querySelector<HTMLElement>("[data-brush=off]"), panels.flesh.querySelector<HTMLElement>("[data-flesh=off]")];
  const look = button("Look", "Drag to rotate, click to select", () => {
    for (const one of off) one?.click();
  });
  look.dataset["tool"] = "look";
  for (const one of brushes) if (one.dataset["brush"] === "sculpt") one.textContent = "Sculpt";
  for (const one of hands) if (one.dataset["flesh"] === "paint") one.textContent = "Thickness";
  for (const one of hands) one.addEventListener("click", () => off[0]?.click(), { capture: true });
  for (const one of brushes) one.addEventListener("click", () => off[1]?.click(), { capture: true });
  const bar = el("div", { className: "toolbar", role: "toolbar", ariaLabel: "Tools" }, look, ...brushes, ...hands);
  for (const panel of Object.values(panels)) panel.querySelector(".buttons")?.setAttribute("hidden", "");
  onlyWhenChanged(
    viewer,
    () => `${brush.mode} ${flesh.mode} ${viewer.active?.id} ${flesh.liveOf(viewer.active) !== null}`,
    () => {
      const live = flesh.liveOf(viewer.active) !== null;
      look.classList.toggle("active", brush.mode === "off" && (!live || flesh.mode === "off"));
      for (const one of hands) one.hidden = !live;
      bar.hidden = viewer.views.length === 0;
    },
  );
  // The group of a tool without options is hidden.
  viewer.listen(() => {
    const [, ...contents] = [...panels.brush.children] as HTMLElement[];
    panels.brush.hidden = contents.every((part) => part.hidden);
  });
  return bar;
}
