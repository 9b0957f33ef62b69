// Colour bar of the heat map, in the units of the scene, with the choice of its range, scale and colours.

import { DECADES, logFraction, MAPS, type MapName, rampColor, SIGNED_MAPS, type SignedMapName } from "../gpu/colors";
import type { Range, RangeName } from "../heat/scale";
import { compact, roundTicks } from "../numbers";
import type { Viewer } from "../viewer";
import { el, toggle } from "./dom";

const RANGES: [RangeName, string][] = [
  ["most", "98 % of values"],
  ["all", "all values"],
  ["fixed", "fixed"],
];

export function heatbar(viewer: Viewer): HTMLElement {
  const { scale } = viewer.state;
  const canvas = el("canvas", { width: 300, height: 10, ariaHidden: "true" });
  const ticks = el("div", { className: "ticks" });
  const title = el("div", { className: "title" });
  const input = el("input", { type: "text", title: "Upper end of the colour bar; empty for that of the values" });
  input.dataset["role"] = "heat-high";
  input.onchange = () => {
    const value = Number(input.value);
    const given = input.value.trim() !== "" && value > 0 && Number.isFinite(value);
    Object.assign(scale, given ? { range: "fixed", fixed: value } : { range: "most" });
    viewer.changed();
  };
  const range = list("Range of the colours", RANGES, (value) => {
    const shown = described(viewer);
    if (value === "fixed" && shown) scale.fixed = shown.high;
    scale.range = value;
    viewer.changed();
  });
  range.dataset["role"] = "heat-range";
  const map = list("Colours", [], (value) => {
    if ((SIGNED_MAPS as readonly string[]).includes(value)) scale.signedMap = value as SignedMapName;
    else scale.map = value as MapName;
    viewer.changed();
  });
  map.dataset["role"] = "heat-map";
  const log = toggle("Log", `Logarithmic colours over ${DECADES} powers of ten`, scale.logarithmic, (on) => {
    scale.logarithmic = on;
    viewer.changed();
  });
  log.dataset["role"] = "heat-log";
  const choices = el("div", { className: "choices" }, range, input, map, log);
  const bar = el("div", { className: "heatbar" }, title, el("div", { className: "bar" }, canvas, ticks), choices);
  let drawn = "";
  viewer.listen(() => {
    const shown = described(viewer);
    bar.hidden = shown === null;
    if (!shown) return;
    title.textContent = shown.title;
    if (document.activeElement !== input) input.value = compact(shown.high);
    range.value = scale.range;
    (log.firstChild as HTMLInputElement).checked = scale.logarithmic;
    const key = JSON.stringify([shown, scale]);
    if (key === drawn) return;
    drawn = key;
    const maps = shown.signed ? SIGNED_MAPS : MAPS;
    map.replaceChildren(...maps.map((name) => el("option", { value: name, textContent: name })));
    map.value = shown.ramp.map;
    paintRamp(canvas, shown);
    ticks.replaceChildren(...labels(shown));
  });
  bar.hidden = true;
  return bar;
}

function list<T extends string>(label: string, entries: [T, string][], act: (value: T) => void): HTMLSelectElement {
  const options = entries.map(([value, textContent]) => el("option", { value, textContent }));
  const select = el("select", { title: label, ariaLabel: label }, ...options);
  select.onchange = () => act(select.value as T);
  return select;
}

interface Described extends Range {
  title: string;
  signed: boolean;
}

function described(viewer: Viewer): Described | null {
  const { heat, bone, boneModel } = viewer.state;
  const view = viewer.active;
  if (!view) return null;
  const column = viewer.columns.find((shown) => ["error", "scalar"].includes(viewer.heatOf(shown).kind));
  const range = column && viewer.rangeIn(column);
  if (!range) return null;
  const { unit } = view.model.info;
  const { bones } = (boneModel ?? view.model).info;
  const live = viewer.liveScalars.get(column.id);
  const titles: Record<string, string> = {
    error: `error (${unit})`,
    weight: `weight of ${bones[bone]?.name || `bone ${bone}`}`,
    paint: viewer.scene.paint ?? "painted",
    live: live ? [live.label, live.unit && `(${live.unit})`].join(" ") : "",
  };
  return { ...range, title: titles[heat] ?? heat.slice("attribute:".length), signed: range.low < 0 && range.high > 0 };
}

/** Labels at round numbers, each at its place on the bar. */
function labels({ low, high, clips, signed, ramp }: Described): HTMLElement[] {
  const linear = (value: number): number => (value - low) / (high - low);
  const decades = Array.from({ length: DECADES + 1 }, (_, k) => high / 10 ** (DECADES - k));
  const values = !ramp.logarithmic
    ? roundTicks(low, high)
    : signed
      ? [-high, -high / 10 ** DECADES, high]
      : decades;
  const place = (value: number): number => (ramp.logarithmic ? logFraction(linear(value), signed) : linear(value));
  return values.map((value) => {
    const sign = !clips ? "" : value === high ? "≥ " : signed && value === low ? "≤ " : "";
    const text = ramp.logarithmic && signed && Math.abs(value) < high ? "0" : compact(value);
    const label = el("span", { textContent: `${sign}${text}` });
    label.style.left = `${100 * place(value)}%`;
    return label;
  });
}

/** Draws the colours; those of a logarithmic scale are spread evenly. */
function paintRamp(canvas: HTMLCanvasElement, { ramp }: Described): void {
  const context = canvas.getContext("2d")!;
  for (let x = 0; x < canvas.width; x++) {
    const color = rampColor({ ...ramp, logarithmic: false }, x / (canvas.width - 1));
    context.fillStyle = `rgb(${color.join(",")})`;
    context.fillRect(x, 0, 1, canvas.height);
  }
}
