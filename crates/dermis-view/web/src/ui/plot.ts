// Small plots as SVG: lines, bars and a mark.

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
  format?: (value: number) => string;
}

const MARGIN = { left: 46, right: 8, top: 8, bottom: 26 };
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
  for (const share of [0, 0.5, 1]) {
    const value = options.logarithmic ? floor * (top / floor) ** share : top * share;
    svg.append(
      node("line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: py(value), y2: py(value), class: "grid" }),
    );
    svg.append(text(MARGIN.left - 5, py(value) + 4, format(value), "end"));
  }
  svg.append(
    text(MARGIN.left, height - 10, short(x0), "middle"),
    text(width - MARGIN.right, height - 10, short(x1), "end"),
  );
  svg.append(text((MARGIN.left + width) / 2, height - 8, options.x, "middle"));
  for (const { color, points, dots } of series) {
    if (options.bars) {
      const wide = Math.max(1, (px(x1) - px(x0)) / points.length - 1);
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
  if (options.mark !== undefined) {
    const at = px(options.mark);
    svg.append(node("line", { x1: at, x2: at, y1: MARGIN.top, y2: height - MARGIN.bottom, class: "mark" }));
  }
  svg.append(node("title", {}, options.y));
  return svg;
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
