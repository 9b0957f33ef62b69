// Small SVG plots with lines, bars and a mark. Ticks are round numbers, and all labels are inside the plot.

import { compact, roundTicks } from "../numbers";

const SVG = "http://www.w3.org/2000/svg";

export interface Series {
  label: string;
  color: string;
  /** Pairs of x and y. */
  points: [number, number][];
  dots?: boolean;
}

export interface PlotOptions {
  width: number;
  height: number;
  x: string;
  y: string;
  mark?: number;
  bars?: boolean;
  logarithmic?: boolean;
  /** Labels integers only on the x axis. */
  integers?: boolean;
  format?: (value: number) => string;
  /** Called with the x under the pointer while it is pressed. */
  pick?: (x: number) => void;
}

/** Map from x values to canvas coordinates for the mark of each plot. */
const scales = new WeakMap<SVGSVGElement, (x: number) => number>();

const MARGIN = { right: 14, top: 10, bottom: 30 };
/** Estimated width of a character of a label, in units of the plot. */
const CHARACTER = 6.2;
export const SERIES_COLORS = ["#5aa9e6", "#f2a65a", "#7fc97f", "#d98cb3", "#c8c36a", "#8f8fd6"];

export function plot(series: Series[], options: PlotOptions): SVGSVGElement {
  const { width, height } = options;
  const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "plot", role: "img" });
  svg.setAttribute("aria-label", `${options.y} by ${options.x}`);
  const all = series.flatMap((s) => s.points);
  const format = options.format ?? ((value: number) => compact(value, 3));
  const [x0, x1] = span(all.map(([x]) => x));
  const axis = yAxis(
    all.map(([, y]) => y),
    options.logarithmic ?? false,
    height < 150 ? 4 : 6,
  );
  const left = 8 + CHARACTER * Math.max(...axis.ticks.map((tick) => format(tick).length));
  const inner = width - left - MARGIN.right;
  const wide = options.bars ? Math.max(1, inner / Math.max(series[0]?.points.length ?? 1, 1)) : 0;
  // Bars have a margin at both ends, so that the first and the last are complete.
  const px = (x: number): number => left + wide / 2 + ((x - x0) / (x1 - x0)) * (inner - wide);
  const py = (y: number): number => height - MARGIN.bottom - axis.at(y) * (height - MARGIN.top - MARGIN.bottom);
  for (const tick of axis.ticks) {
    svg.append(node("line", { x1: left, x2: width - MARGIN.right, y1: py(tick), y2: py(tick), class: "grid" }));
    svg.append(text(left - 5, py(tick) + 3.5, format(tick), "end"));
  }
  const low = height - MARGIN.bottom;
  for (const tick of xTicks(x0, x1, inner, options)) {
    svg.append(text(px(tick), low + 12, compact(tick, 4), anchored(px(tick), compact(tick, 4), width)));
  }
  svg.append(text(left + inner / 2, height - 4, options.x, "middle"));
  for (const { color, points, dots } of series) {
    if (options.bars) {
      for (const [x, y] of points) {
        const size = { width: Math.max(1, wide - 1), height: Math.max(0, low - py(y)) };
        svg.append(node("rect", { x: px(x) - wide / 2, y: py(y), ...size, fill: color, opacity: 0.75 }));
      }
      continue;
    }
    const path = points.map(([x, y], i) => `${i ? "L" : "M"}${px(x).toFixed(1)},${py(y).toFixed(1)}`).join("");
    svg.append(node("path", { d: path, fill: "none", stroke: color, "stroke-width": 1.6 }));
    if (dots) for (const [x, y] of points) svg.append(node("circle", { cx: px(x), cy: py(y), r: 2.6, fill: color }));
  }
  scales.set(svg, px);
  if (options.pick) {
    const { pick } = options;
    const at = (event: PointerEvent): void => {
      const box = svg.getBoundingClientRect();
      const fraction = (((event.clientX - box.left) / box.width) * width - left) / inner;
      pick(x0 + Math.min(Math.max(fraction, 0), 1) * (x1 - x0));
    };
    svg.classList.add("picks");
    svg.addEventListener("pointerdown", (event) => {
      svg.setPointerCapture(event.pointerId);
      at(event);
    });
    svg.addEventListener("pointermove", (event) => event.buttons === 1 && at(event));
  }
  if (options.mark !== undefined) {
    svg.append(node("line", { y1: MARGIN.top, y2: low, class: "mark" }));
    moveMark(svg, options.mark);
  }
  svg.append(node("title", {}, options.y));
  return svg;
}

/** Moves the mark of a plot to another x. */
export function moveMark(svg: SVGSVGElement, x: number): void {
  const at = String(scales.get(svg)?.(x) ?? 0);
  for (const end of ["x1", "x2"]) svg.querySelector(".mark")?.setAttribute(end, at);
}

interface Axis {
  ticks: number[];
  /** Position of a value, from 0 to 1. */
  at(value: number): number;
}

/** Axis from 0, or between powers of ten, to a round number that is not below the largest value. */
function yAxis(values: number[], logarithmic: boolean, count: number): Axis {
  const largest = Math.max(0, ...values.filter(Number.isFinite)) || 1;
  if (!logarithmic) {
    const step = roundTicks(0, largest, count)[1] ?? largest;
    const steps = Math.ceil(largest / step - 1e-9);
    const ticks = Array.from({ length: steps + 1 }, (_, at) => Number((at * step).toPrecision(12)));
    return { ticks, at: (value) => Math.max(value, 0) / (steps * step) };
  }
  const smallest = Math.min(...values.filter((value) => value > 0), largest);
  const [low, top] = [Math.floor(Math.log10(smallest)), Math.ceil(Math.log10(largest) + 1e-9)];
  const high = Math.max(top, low + 1);
  const every = Math.ceil((high - low) / count);
  const ticks = Array.from({ length: Math.floor((high - low) / every) + 1 }, (_, at) => 10 ** (high - at * every));
  const position = (value: number): number => (Math.log10(Math.max(value, 10 ** low)) - low) / (high - low);
  return { ticks, at: position };
}

function xTicks(x0: number, x1: number, inner: number, { integers, bars }: PlotOptions): number[] {
  const count = Math.max(2, Math.floor(inner / 44));
  const ticks = roundTicks(x0, x1, count);
  const kept = integers || bars ? ticks.filter((tick) => Number.isInteger(tick)) : ticks;
  return kept.length > 0 ? kept : [x0];
}

/** Anchor of a label that keeps it inside the plot. */
function anchored(x: number, label: string, width: number): string {
  const half = (CHARACTER * label.length) / 2;
  return x + half > width ? "end" : x - half < 0 ? "start" : "middle";
}

function span(values: number[]): [number, number] {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const first = Number.isFinite(low) ? low : 0;
  return high > low ? [first, high] : [first, first + 1];
}

function text(x: number, y: number, content: string, anchor: string): SVGElement {
  return node("text", { x, y, "text-anchor": anchor }, content);
}

function node<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Record<string, string | number>,
  content = "",
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.textContent = content;
  return element;
}
