// Small SVG plots with lines, bars and a mark.

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
  /** Labels every integer on the x axis if there is space. */
  integers?: boolean;
  format?: (value: number) => string;
}

/** Map from x values to canvas coordinates for the mark of each plot. */
const scales = new WeakMap<SVGSVGElement, (x: number) => number>();

const MARGIN = { left: 46, right: 8, top: 8, bottom: 28 };
export const SERIES_COLORS = ["#5aa9e6", "#f2a65a", "#7fc97f", "#d98cb3", "#c8c36a", "#8f8fd6"];

export function plot(series: Series[], options: PlotOptions): SVGSVGElement {
  const { width, height } = options;
  const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "plot" }) as SVGSVGElement;
  const all = series.flatMap((s) => s.points);
  const format = options.format ?? ((value: number) => short(value));
  const [x0, x1] = range(
    all.map(([x]) => x),
    false,
  );
  const positive = all.map(([, y]) => y).filter((y) => y > 0);
  const floor = options.logarithmic ? Math.min(...positive, 1) * 0.8 : 0;
  const top = Math.max(...all.map(([, y]) => y), floor > 0 ? floor * 10 : 0) || 1;
  const scaleY = (y: number): number =>
    options.logarithmic ? Math.log(Math.max(y, floor) / floor) / Math.log(top / floor) : y / top;
  const px = (x: number): number => MARGIN.left + ((x - x0) / (x1 - x0)) * (width - MARGIN.left - MARGIN.right);
  const py = (y: number): number => height - MARGIN.bottom - scaleY(y) * (height - MARGIN.top - MARGIN.bottom);
  for (const fraction of [0, 0.5, 1]) {
    const value = options.logarithmic ? floor * (top / floor) ** fraction : top * fraction;
    svg.append(
      node("line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: py(value), y2: py(value), class: "grid" }),
    );
    svg.append(text(MARGIN.left - 5, py(value) + 4, format(value), "end"));
  }
  const low = height - MARGIN.bottom;
  for (const x of ticks(x0, x1, options)) {
    // Bars have a margin at both ends, so that the first and the last are complete.
    const shift = options.bars ? barWidth(series[0]!.points.length, width) * (0.5 - (x - x0) / (x1 - x0)) : 0;
    const anchor = options.bars || (x !== x0 && x !== x1) ? "middle" : x === x0 ? "start" : "end";
    svg.append(text(px(x) + shift, low + 12, short(x), anchor));
  }
  svg.append(text((MARGIN.left + width) / 2, height - 2, options.x, "middle"));
  for (const { color, points, dots } of series) {
    if (options.bars) {
      const wide = barWidth(points.length, width);
      for (const [x, y] of points) {
        const at = px(x) - (wide * (x - x0)) / (x1 - x0);
        svg.append(
          node("rect", {
            x: at,
            y: py(y),
            width: wide,
            height: Math.max(0, height - MARGIN.bottom - py(y)),
            fill: color,
            opacity: 0.75,
          }),
        );
      }
      continue;
    }
    const path = points.map(([x, y], i) => `${i ? "L" : "M"}${px(x).toFixed(1)},${py(y).toFixed(1)}`).join("");
    svg.append(node("path", { d: path, fill: "none", stroke: color, "stroke-width": 1.6 }));
    if (dots) for (const [x, y] of points) svg.append(node("circle", { cx: px(x), cy: py(y), r: 2.6, fill: color }));
  }
  scales.set(svg, px);
  if (options.mark !== undefined) {
    svg.append(node("line", { y1: MARGIN.top, y2: height - MARGIN.bottom, class: "mark" }));
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

/** Number of bars or integers above which only the ends are labelled. */
const MAX_TICKS = 16;

function ticks(x0: number, x1: number, { integers }: PlotOptions): number[] {
  if (!integers || x1 - x0 > MAX_TICKS) return [x0, x1];
  return Array.from({ length: Math.floor(x1) - Math.ceil(x0) + 1 }, (_, at) => Math.ceil(x0) + at);
}

function barWidth(bars: number, width: number): number {
  return Math.max(1, (width - MARGIN.left - MARGIN.right) / bars - 1);
}

function range(values: number[], zero: boolean): [number, number] {
  const low = zero ? 0 : Math.min(...values);
  const high = Math.max(...values);
  return Number.isFinite(low) && high > low
    ? [low, high]
    : [Number.isFinite(low) ? low : 0, (Number.isFinite(low) ? low : 0) + 1];
}

function short(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size < 1e-3 || size >= 1e5 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
}

function text(x: number, y: number, content: string, anchor: string): SVGElement {
  return node("text", { x, y, "text-anchor": anchor }, content);
}

function node(name: string, attributes: Record<string, string | number>, content = ""): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.textContent = content;
  return element;
}
