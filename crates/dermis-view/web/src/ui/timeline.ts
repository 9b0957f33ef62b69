// Timeline: play, step, scrub (also during playback), range, speed, loop, and marks at the frames with the largest error.

import { framesOf, type View, type Viewer } from "../viewer";
import { button, el, significant, toggle } from "./dom";
import { onlyWhenChanged } from "./panels";

const SVG = "http://www.w3.org/2000/svg";
const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];
/** Number of marked frames, and the minimum distance between them as a fraction of the motion. */
const MARKS = 4;
const APART = 0.05;
/** Time without a change after which errors are requested, in milliseconds. */
const SETTLE_MS = 150;
/** Half the width of the handle of the scrub bar in pixels; positions are relative to its centre. */
const INSET = 7;

export function timeline(viewer: Viewer): HTMLElement {
  const { state } = viewer;
  const play = button("▶", "Play or pause (Space)", () => viewer.play(!state.playing));
  play.className = "play";
  const step = (by: number): void => {
    viewer.play(false);
    viewer.setFrame(state.frame + by);
  };
  const counter = el("output", { className: "counter", title: "Frame and number of frames" });
  const fps = el("input", { type: "number", className: "fps", min: "1", max: "240", title: "Frames per second" });
  fps.onchange = () => {
    state.fps = Math.min(Math.max(Number(fps.value) || 24, 1), 240);
    viewer.changed();
  };
  const speed = el(
    "select",
    { className: "speed", title: "Speed of playback" },
    ...SPEEDS.map((value) => el("option", { value: String(value), textContent: `${value} ×` })),
  );
  speed.dataset["role"] = "speed";
  speed.onchange = () => {
    state.speed = Number(speed.value);
    viewer.changed();
  };
  const loop = toggle("Loop", "Repeat the motion (L)", state.loop, (on) => {
    state.loop = on;
    viewer.changed();
  });
  const strip = new Strip(viewer);
  const ends = (["first", "last"] as const).map((end) => {
    const [label, title] = end === "first" ? ["In", "Playback starts at this frame (I)"] : ["Out", "Playback ends at this frame (O)"];
    const one = button(label, title, () => setEnd(viewer, end));
    one.dataset["role"] = end === "first" ? "in" : "out";
    return one;
  });
  const all = button("All", "Play all frames", () => viewer.setRange(0, viewer.frameCount - 1));
  all.dataset["role"] = "all-frames";
  const show = (): void => {
    play.textContent = state.playing ? "❚❚" : "▶";
    play.disabled = strip.scrub.disabled = viewer.frameCount < 2;
    (loop.firstChild as HTMLInputElement).checked = state.loop;
    all.hidden = state.range === null;
    counter.textContent = `${state.frame} / ${viewer.frameCount - 1}`;
    speed.value = String(state.speed);
    if (document.activeElement !== fps) fps.value = String(Number(state.fps.toFixed(3)));
  };
  viewer.listen(show);
  show();
  return el(
    "footer",
    { className: "timeline" },
    el(
      "div",
      { className: "transport" },
      button("|‹", "First frame (Home)", () => viewer.setFrame(viewer.span.first)),
      button("‹", "Previous frame (←)", () => step(-1)),
      play,
      button("›", "Next frame (→)", () => step(1)),
      button("›|", "Last frame (End)", () => viewer.setFrame(viewer.span.last)),
    ),
    strip.element,
    el(
      "div",
      { className: "pace" },
      counter,
      ...ends,
      all,
      speed,
      el("label", { className: "field" }, fps, "fps"),
      loop,
    ),
  );
}

/** Sets one end of the range of playback to the current frame. */
export function setEnd(viewer: Viewer, end: "first" | "last"): void {
  const { first, last } = viewer.span;
  const { frame } = viewer.state;
  if (end === "first") viewer.setRange(frame, Math.max(last, frame));
  else viewer.setRange(Math.min(first, frame), frame);
}

/** Scrub bar with the range, the curve of the error and the marks. */
class Strip {
  readonly scrub = el("input", { type: "range", className: "scrub", title: "Frame; drag to scrub" });
  readonly element: HTMLElement;
  private readonly curve = document.createElementNS(SVG, "svg");
  private readonly marks = el("div", { className: "marks" });
  private readonly span = el("div", { className: "span" });
  private errors: { key: string; rms: number[] } = { key: "", rms: [] };
  /** Errors that have been computed. */
  private readonly known = new Map<string, number[]>();

  constructor(private readonly viewer: Viewer) {
    const { scrub, curve } = this;
    Object.assign(scrub, { min: "0", step: "1", value: "0" });
    scrub.dataset["role"] = "scrub";
    curve.setAttribute("class", "error-curve");
    curve.setAttribute("preserveAspectRatio", "none");
    const handles = (["first", "last"] as const).map((end) => this.handle(end));
    this.element = el("div", { className: "strip" });
    this.element.append(curve, this.span, scrub, ...handles, this.marks);
    this.listen();
    const show = (): void => {
      const { state, frameCount } = viewer;
      scrub.max = String(frameCount - 1);
      scrub.value = String(state.frame);
      const { first, last } = viewer.span;
      this.span.hidden = state.range === null;
      this.place(this.span, first);
      this.span.style.width = `calc(${this.fraction(last) - this.fraction(first)} * (100% - ${2 * INSET}px))`;
      handles.forEach((handle, at) => {
        this.place(handle, at === 0 ? first : last);
        handle.hidden = frameCount < 2;
      });
    };
    viewer.listen(show);
    show();
    onlyWhenChanged(
      viewer,
      () => this.key(),
      () => void this.load(),
    );
  }

  /** Playback pauses while the handle is held and continues from its position. */
  private listen(): void {
    const { scrub, viewer } = this;
    let [held, resume] = [false, false];
    scrub.oninput = () => {
      viewer.setFrame(Number(scrub.value));
      viewer.play(viewer.state.playing && !held);
    };
    scrub.onpointerdown = () => {
      [held, resume] = [true, viewer.state.playing];
      viewer.play(false);
    };
    scrub.onpointerup = () => {
      held = false;
      if (resume) viewer.play(true);
    };
  }

  private handle(end: "first" | "last"): HTMLElement {
    const { viewer } = this;
    const title = end === "first" ? "First frame of playback; drag" : "Last frame of playback; drag";
    const handle = el("div", { className: `end ${end}`, title });
    handle.dataset["role"] = `range-${end}`;
    handle.onpointerdown = (event) => {
      event.preventDefault();
      handle.setPointerCapture(event.pointerId);
      handle.onpointermove = ({ clientX }) => {
        const { left, width } = this.element.getBoundingClientRect();
        const fraction = (clientX - left - INSET) / (width - 2 * INSET);
        const frame = Math.round(Math.min(Math.max(fraction, 0), 1) * (viewer.frameCount - 1));
        const { first, last } = viewer.span;
        if (end === "first") viewer.setRange(Math.min(frame, last), last);
        else viewer.setRange(first, Math.max(frame, first));
      };
    };
    handle.onpointerup = handle.onpointercancel = () => (handle.onpointermove = null);
    return handle;
  }

  private fraction(frame: number): number {
    return frame / Math.max(this.viewer.frameCount - 1, 1);
  }

  private place(element: HTMLElement, frame: number): void {
    element.style.left = `calc(${INSET}px + ${this.fraction(frame)} * (100% - ${2 * INSET}px))`;
  }

  /** Fit whose error is shown: the active view, or another shown one. */
  private get fit(): View | null {
    const { viewer } = this;
    return [viewer.active, ...viewer.columns].find((view) => view && viewer.referenceOf(view)) ?? null;
  }

  private key(): string {
    const { fit, viewer } = this;
    return fit ? `${fit.id} ${fit.model.clip} ${viewer.rankOf(fit)} ${viewer.frameCount}` : `${viewer.frameCount}`;
  }

  private async load(): Promise<void> {
    const { fit, viewer } = this;
    const key = this.key();
    this.errors = { key, rms: this.known.get(key) ?? [] };
    this.draw();
    if (!fit || this.errors.rms.length > 0) return;
    // A slider that moves requests only the errors of its last position.
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    if (this.errors.key !== key) return;
    const { info, clip } = fit.model;
    const found = await viewer.attempt(viewer.source.frameErrors(info.id, Math.max(clip, 0), viewer.rankOf(fit)));
    if (!found) return;
    this.known.set(key, found.rms.slice(0, framesOf(fit)));
    if (this.errors.key !== key) return;
    this.errors.rms = this.known.get(key)!;
    this.draw();
  }

  private draw(): void {
    const { viewer, curve } = this;
    const { rms } = this.errors;
    const top = Math.max(...rms, 1e-30);
    const end = Math.max(viewer.frameCount - 1, 1);
    curve.setAttribute("viewBox", `0 0 ${end} 1`);
    const path = document.createElementNS(SVG, "path");
    const line = rms.map((value, frame) => `L${frame},${(1 - (0.95 * value) / top).toFixed(4)}`).join("");
    path.setAttribute("d", rms.length > 1 ? `M0,1${line}L${rms.length - 1},1Z` : "");
    curve.replaceChildren(path);
    const unit = this.fit?.model.info.unit ?? "";
    const marks = worst(rms).map((frame, at) => {
      const text = `Frame ${frame}: error ${significant(rms[frame]!)} ${unit} rms${at === 0 ? ", the largest" : ""}`;
      const mark = button("", text, () => {
        viewer.play(false);
        viewer.setFrame(frame);
      });
      mark.className = at === 0 ? "worst largest" : "worst";
      mark.dataset["frame"] = String(frame);
      mark.setAttribute("aria-label", text);
      this.place(mark, frame);
      return mark;
    });
    this.marks.replaceChildren(...marks);
  }
}

/** Frames with the largest values that are apart from each other, in descending order. */
export function worst(values: number[]): number[] {
  const order = values.map((_, frame) => frame).sort((a, b) => values[b]! - values[a]!);
  const apart = Math.max(2, APART * values.length);
  const found: number[] = [];
  for (const frame of order) {
    if (found.length >= Math.min(MARKS, Math.ceil(values.length / 8))) break;
    if (values[frame]! > 0 && found.every((other) => Math.abs(other - frame) >= apart)) found.push(frame);
  }
  return found;
}
