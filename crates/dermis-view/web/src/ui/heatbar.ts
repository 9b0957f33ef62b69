// Colour bar of the heat map, in the units of the scene.

import { rampColor, type RampName } from "../gpu/colors";
import type { Viewer } from "../viewer";
import { el, significant } from "./dom";

export function heatbar(viewer: Viewer): HTMLElement {
  const canvas = el("canvas", { width: 300, height: 10 });
  const ticks = el("div", { className: "ticks" });
  const title = el("div", { className: "title" });
  const input = el("input", {
    type: "text",
    title: "Upper end of the colour bar; empty for the largest error",
  });
  input.onchange = () => {
    const value = Number(input.value);
    viewer.state.errorRange = input.value.trim() !== "" && value > 0 ? value : null;
    input.blur();
    viewer.changed();
  };
  const bar = el("div", { className: "heatbar" }, title, el("div", { className: "bar" }, canvas, ticks), input);
  let drawn: RampName | null = null;
  viewer.listen(() => {
    const shown = described(viewer);
    bar.hidden = shown === null;
    if (!shown) return;
    if (drawn !== shown.ramp) paintRamp(canvas, (drawn = shown.ramp));
    title.textContent = shown.title;
    input.hidden = viewer.state.heat !== "error";
    if (document.activeElement !== input) input.value = significant(shown.high);
    const labels = [0, 0.25, 0.5, 0.75, 1].map((fraction) => shown.low + fraction * (shown.high - shown.low));
    const text = (value: number, at: number): string =>
      `${at === labels.length - 1 && viewer.errorClips ? "≥ " : ""}${significant(value)}`;
    ticks.replaceChildren(...labels.map((value, at) => el("span", { textContent: text(value, at) })));
  });
  bar.hidden = true;
  return bar;
}

interface Described {
  title: string;
  low: number;
  high: number;
  ramp: RampName;
}

function described(viewer: Viewer): Described | null {
  const { heat, bone, boneModel } = viewer.state;
  const view = viewer.active;
  if (!view) return null;
  const map = viewer.columns
    .map((column) => viewer.heatOf(column))
    .find((m) => m.kind === "error" || m.kind === "scalar");
  if (!map || (map.kind !== "error" && map.kind !== "scalar")) return null;
  const { unit } = view.model.info;
  const { bones } = (boneModel ?? view.model).info;
  const live = viewer.columns.map((column) => viewer.liveScalars.get(column.id)).find((scalar) => scalar);
  const titles: Record<string, string> = {
    error: `error (${unit})`,
    weight: `weight of ${bones[bone]?.name || `bone ${bone}`}`,
    paint: viewer.scene.paint ?? "painted",
    live: live ? [live.label, live.unit && `(${live.unit})`].join(" ") : "",
  };
  const title = titles[heat] ?? heat.slice("attribute:".length);
  return { title, low: map.low, high: map.high, ramp: map.kind === "scalar" ? map.ramp : "heat" };
}

function paintRamp(canvas: HTMLCanvasElement, ramp: RampName): void {
  const context = canvas.getContext("2d")!;
  for (let x = 0; x < canvas.width; x++) {
    context.fillStyle = `rgb(${rampColor(ramp, x / (canvas.width - 1)).join(",")})`;
    context.fillRect(x, 0, 1, canvas.height);
  }
}
