// Comparison of several fits by their number of bones, all with the same rank.

import type { Model } from "../gpu/model";
import type { Viewer } from "../viewer";
import { button, el } from "./dom";
import { plot, SERIES_COLORS } from "./plot";

/** Compared fits in ascending order of bones. */
function compared(viewer: Viewer): Model[] {
  const fits = viewer.models.filter((model) => model.reference !== null && boneCount(model) > 0);
  return fits.sort((a, b) => boneCount(a) - boneCount(b));
}

function boneCount(model: Model): number {
  return model.info.bones.filter((bone) => !bone.is_end).length;
}

/** Rank at which all fits are compared: the selected one, or the highest that all of them have. */
export function commonRank(viewer: Viewer): number {
  return Math.min(viewer.state.rank, ...compared(viewer).map((model) => model.info.rank));
}

/** One row per fit with its error at the common rank, and the curve of the errors, if there are several fits. */
export function ladderRows(viewer: Viewer): HTMLElement[] {
  const fits = compared(viewer);
  if (fits.length < 2) return [];
  const rank = commonRank(viewer);
  const known = fits.flatMap((model): [number, number][] => {
    const value = viewer.measured(model, rank)?.distortion_percent;
    return value === undefined ? [] : [[boneCount(model), value]];
  });
  const smallest = Math.min(...known.map(([, error]) => error));
  const rows = fits.map((model) => {
    const measures = viewer.measured(model, rank);
    const text = measures?.text["distortion_percent"] ?? "…";
    const last = viewer.views.findLastIndex((view) => view.model === model && view.figure.poser.kind !== "live");
    const name = `${boneCount(model)} bones, rank ${rank} of ${model.info.rank}`;
    const step = button(name, `Show ${model.info.label}`, () => viewer.show(last));
    step.className = viewer.active?.model === model ? "row active" : "row";
    const best = known.length > 1 && measures?.distortion_percent === smallest;
    const value = el("span", { textContent: `${text} %`, title: best ? "Smallest distortion" : "Distortion E" });
    if (best) value.classList.add("best");
    return el("div", { className: "step" }, step, value);
  });
  const series = { label: "E", color: SERIES_COLORS[0]!, points: known, dots: true };
  const y = `distortion in percent at rank ${rank}`;
  const options = { width: 248, height: 120, x: "bones", y, integers: true };
  const chart = new Set(known.map(([bones]) => bones)).size > 1 ? plot([series], options) : null;
  const title = el("h3", { textContent: `Distortion E (%) at rank ${rank}, by number of bones` });
  const higher = fits.some((model) => model.info.rank > rank && viewer.state.rank > rank);
  const why = `Rank ${rank} is the highest that all of these fits have.`;
  const note = higher ? el("p", { className: "hint", textContent: why }) : null;
  return [title, ...rows, ...(chart ? [chart as unknown as HTMLElement] : []), ...(note ? [note] : [])];
}
