// Panel of simulated flesh: tools, parameters, speed and saving.

import type { Brush } from "../tools/brush";
import { type FleshMode, type FleshTool, THICKNESS } from "../tools/flesh";
import type { Viewer } from "../viewer";
import { button, el, section, slider } from "./dom";
import { onlyWhenChanged } from "./panels";
import { download, historyButtons } from "./toolpanels";

const MODES: [FleshMode, string, string][] = [
  ["off", "Look", "Drag to rotate the view"],
  ["pull", "Pull", "Drag flesh; drag outside the body to rotate the view"],
  ["poke", "Poke", "Press a ball into flesh"],
  ["paint", "Paint", "Paint the thickness of the simulated layer; Alt reduces it"],
];

export function fleshPanel(viewer: Viewer, flesh: FleshTool, brush: Brush): HTMLElement {
  const buttons = MODES.map(([mode, label, title]) => {
    const one = button(label, title, () => choose(mode));
    one.dataset["flesh"] = mode;
    return one;
  });
  const choose = (mode: FleshMode): void => {
    flesh.mode = mode;
    flesh.leave();
    if (mode !== "off") brush.mode = "off";
    if (mode === "paint") flesh.liveOf(viewer.active)?.set("heat", THICKNESS);
    viewer.changed();
  };
  const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;
  const size = (value: number): { low: number; high: number; step: number; value: number } => ({
    low: 0.01,
    high: 0.12,
    step: 0.005,
    value,
  });
  const thick = { low: 0.5, high: 2, step: 0.05, value: flesh.thickness };
  const tools: Record<FleshMode, HTMLElement> = {
    off: el("div"),
    pull: el("div"),
    poke: slider("Ball", size(flesh.ballRadius), (value) => (flesh.ballRadius = value), percent).element,
    paint: el(
      "div",
      {},
      slider("Radius", size(flesh.brushRadius), (value) => (flesh.brushRadius = value), percent).element,
      slider("Thickness", thick, (value) => (flesh.thickness = value)).element,
    ),
  };
  for (const [mode, part] of Object.entries(tools)) part.dataset["tool"] = mode;
  const controls = el("div");
  const status = el("p", { className: "hint", data: { role: "flesh-status" } });
  const reset = button("Restart", "Restart in the current pose (R)", () =>
    flesh.liveOf(viewer.active)?.send({ reset: true }),
  );
  reset.dataset["role"] = "flesh-reset";
  const save = button("Save", "Write the body with its current flesh", () => void store(viewer, flesh));
  save.dataset["role"] = "flesh-save";
  const { buttons: steps, update } = historyButtons(flesh.edits.history);
  const box = section(
    "Flesh",
    el("div", { className: "buttons" }, ...buttons),
    el("div", { className: "tools" }, ...Object.values(tools)),
    controls,
    el("div", { className: "buttons" }, ...steps),
    el("div", { className: "buttons" }, reset, save),
    status,
  );
  onlyWhenChanged(
    viewer,
    () => `${viewer.active?.id} ${flesh.mode} ${flesh.liveOf(viewer.active)?.greetings}`,
    () => {
      const live = flesh.liveOf(viewer.active);
      box.hidden = live === null;
      for (const one of buttons) one.classList.toggle("active", one.dataset["flesh"] === flesh.mode);
      for (const [mode, part] of Object.entries(tools)) part.hidden = mode !== flesh.mode;
      controls.replaceChildren(...(live?.controls ?? []));
    },
  );
  viewer.listen(() => {
    update();
    status.textContent = flesh.liveOf(viewer.active)?.status ?? "";
    // Both brushes would act on the same flesh.
    if (brush.mode !== "off" && flesh.mode !== "off" && flesh.liveOf(viewer.active)) choose("off");
  });
  return box;
}

async function store(viewer: Viewer, flesh: FleshTool): Promise<void> {
  const live = flesh.liveOf(viewer.active);
  const result = await live?.save();
  if (!live || !result) return;
  flesh.edits.markSaved(live.of);
  const { label } = live.view!.model.info;
  if (result instanceof Blob) {
    download(result, `${label.replace(/\.[^.]*$/, "")}-painted.npz`);
    viewer.say(`The painted ${label} is saved as a download`);
  } else viewer.say(`Written: the painted ${label} as ${result.join(", ")}`);
}
