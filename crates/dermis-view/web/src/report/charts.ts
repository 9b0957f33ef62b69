// Tables and curves of a report.

import { el, significant } from "../ui/dom";
import { plot, type PlotOptions, SERIES_COLORS, type Series } from "../ui/plot";
import type { Facts, FitFacts } from "./embedded";

const SIZE = { width: 520, height: 210 };

export function summary(facts: Facts): HTMLElement {
  const columns: [string, (fit: FitFacts) => string][] = [
    ["Fit", (fit) => fit.label],
    ["Bones", (fit) => String(fit.measures.bones)],
    ["Influences", (fit) => String(fit.points_by_influences.length - 1)],
    ["Rank", (fit) => String(fit.measures.rank)],
    ["Distortion E (%)", (fit) => fit.measures.text["distortion_percent"]!],
    ["E at rank 0 (%)", (fit) => fit.by_rank[0]?.text["distortion_percent"] ?? "–"],
    ["ERMS", (fit) => fit.measures.text["erms"]!],
    ["Largest error (% of box)", (fit) => fit.measures.text["max_error_percent"]!],
    [`Largest error (${facts.unit})`, (fit) => fit.measures.text["max_error"]!],
    ["Normal error (rms)", (fit) => fit.measures.text["normal_error_rms"]!],
    ["Parts per bone", (fit) => fit.measures.text["parts_per_bone"]!],
    ["Islands", (fit) => fit.measures.text["islands"]!],
    ["Mean influences", (fit) => fit.measures.text["mean_influences"]!],
    ["Weight difference over edges", (fit) => fit.measures.text["weight_difference"]!],
    ["Compression, bones only", (fit) => `${fit.measures.text["compression"]!} ×`],
    ["File", (fit) => (fit.file_bytes ? `${(fit.file_bytes / 1e6).toFixed(2)} MB` : "–")],
  ];
  // Measures are rows, so that the table fits on a page.
  const [[name, label], ...measures] = columns as [(typeof columns)[number], ...typeof columns];
  const cells = facts.fits.map((fit) => el("th", { textContent: label(fit), scope: "col" }));
  const head = el("tr", {}, el("th", { textContent: name }), ...cells);
  const rows = measures.map(([measure, text]) =>
    el(
      "tr",
      {},
      el("th", { textContent: measure, scope: "row" }),
      ...facts.fits.map((fit) => el("td", { textContent: text(fit) })),
    ),
  );
  return el(
    "div",
    { className: "wide" },
    el("table", { className: "summary" }, el("thead", {}, head), el("tbody", {}, ...rows)),
  );
}

export function curves(facts: Facts): HTMLElement {
  const { fits, unit } = facts;
  const byFrame = (values: (fit: FitFacts) => number[]): Series[] =>
    fits.map((fit, at) =>
      series(
        fit,
        at,
        values(fit).map((value, frame) => [frame, value]),
      ),
    );
  const histograms = fits.map((fit, at) => {
    const total = fit.histogram.reduce((sum, count) => sum + count, 0) || 1;
    const bins = fit.histogram.length;
    return series(
      fit,
      at,
      fit.histogram.map((count, bin) => [((bin + 0.5) / bins) * fit.histogram_high, (100 * count) / total]),
    );
  });
  const ranks = fits.map((fit, at) => ({
    ...series(
      fit,
      at,
      fit.by_rank.map((m) => [m.rank, m.distortion_percent]),
    ),
    dots: true,
  }));
  const ladder = [...fits].sort((a, b) => a.measures.bones - b.measures.bones);
  const atRank = (name: string, at: number, error: (fit: FitFacts) => number): Series => ({
    label: name,
    color: SERIES_COLORS[at]!,
    dots: true,
    points: ladder.map((fit) => [fit.measures.bones, error(fit)]),
  });
  // Fits are compared at the same rank: 0, and the highest that all of them have.
  const common = Math.min(...fits.map((fit) => fit.measures.rank));
  const measured = (fit: FitFacts, rank: number): number =>
    fit.by_rank.findLast((measures) => measures.rank <= rank)?.distortion_percent ?? 0;
  const bones = [atRank("rank 0", 0, (fit) => measured(fit, 0))];
  if (common > 0) bones.push(atRank(`rank ${common}`, 1, (fit) => measured(fit, common)));
  const figures = [
    figure(
      `Error over time, root mean square (${unit})`,
      byFrame((fit) => fit.rms_by_frame),
      "frame",
    ),
    figure(
      `Largest error over time (${unit})`,
      byFrame((fit) => fit.max_by_frame),
      "frame",
    ),
    figure("Distribution of errors (% of all points in all frames, logarithmic)", histograms, `error (${unit})`, {
      logarithmic: true,
    }),
    figure("Distortion E against rank (%)", ranks, "rank", { integers: true }),
  ];
  if (fits.length > 1) figures.push(figure("Distortion E against bones (%)", bones, "bones", { integers: true }));
  return el("div", { className: "figures" }, ...figures);
}

export function weights(facts: Facts): HTMLElement {
  const parts = facts.fits.map((fit, at) => {
    const points = fit.points_by_influences.map((count, n): [number, number] => [n, count]);
    const sums = [...fit.bones]
      .sort((a, b) => b.weight - a.weight)
      .map((bone, n): [number, number] => [n, bone.weight]);
    const words = `${significant(fit.mean_influences)} influences per point on average; sums differ from 1 by at most ${significant(fit.largest_sum_error)}; ${fit.negative_weights} negative weights`;
    const rows = fit.bones.map((bone) =>
      el(
        "tr",
        {},
        ...[bone.name, String(bone.points), significant(bone.weight)].map((text) => el("td", { textContent: text })),
      ),
    );
    const head = el(
      "tr",
      {},
      ...["Bone", "Points moved", "Sum of weights"].map((text) => el("th", { textContent: text })),
    );
    return el(
      "div",
      {},
      el("h3", { textContent: fit.label }),
      el("p", { className: "hint", textContent: words }),
      el(
        "div",
        { className: "figures" },
        figure("Points by number of influences", [series(fit, at, points)], "influences", {
          bars: true,
          integers: true,
        }),
        figure("Sum of weights of each bone, largest first", [series(fit, at, sums)], "bone", { bars: true }),
      ),
      el(
        "details",
        {},
        el("summary", { textContent: `All ${fit.bones.length} bones` }),
        el("table", { className: "summary" }, head, ...rows),
      ),
    );
  });
  return el("div", {}, ...parts);
}

function series(fit: FitFacts, at: number, points: [number, number][]): Series {
  return { label: fit.label, color: SERIES_COLORS[at % SERIES_COLORS.length]!, points };
}

function figure(caption: string, list: Series[], x: string, more: Partial<PlotOptions> = {}): HTMLElement {
  const legend = list.map(({ label, color }) => {
    const mark = el("i");
    mark.style.background = color;
    return el("span", {}, mark, label);
  });
  const box = el("figure", {}, el("figcaption", { textContent: caption }));
  box.append(plot(list, { ...SIZE, x, y: caption, ...more }));
  if (list.length > 1) box.append(el("div", { className: "legend" }, ...legend));
  return box;
}
