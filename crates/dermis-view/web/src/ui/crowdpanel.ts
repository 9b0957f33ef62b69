// Panel of the crowd: number of instances, method of drawing, measured times.

import { Crowd } from "../tools/crowd";
import type { Method } from "../tools/crowd_batch";
import { framesOf, type View, type Viewer } from "../viewer";
import { button, choice, el, section } from "./dom";
import { onlyWhenChanged } from "./panels";

const [MIN_INSTANCES, MAX_INSTANCES] = [1, 10_000];
/** Time after which a measurement skips larger crowds, in milliseconds per frame. */
const MAX_MEASURED_MS = 1500;
const MEASURED_COUNTS = [1, 10, 100, 1000, 10_000];
/** Frames that are measured; the first includes compilation and uploads and is not counted. */
const MEASURED_FRAMES = 4;

const METHODS: [Method, string, string][] = [
  ["levels", "Automatic", "automatic"],
  ["full", "Full meshes", "full meshes"],
  ["uploads", "Uploaded", "uploaded"],
];

export interface Measured {
  instances: number;
  /** Milliseconds per frame; `null` if larger crowds were skipped. */
  ms: Record<Method, number | null>;
}

export class CrowdPanel {
  readonly element: HTMLElement;
  crowd: Crowd | null = null;
  /** Panels without effect on a crowd. */
  ignored: HTMLElement[] = [];
  /** Result of the last measurement. */
  measured: Measured[] = [];
  private wanted = false;
  private built = 0;
  private count = 49;
  private method: Method = "levels";
  private readonly facts = el("p", { className: "hint", ariaLive: "polite", data: { role: "crowd-facts" } });
  private readonly table = el("table", { className: "numbers", data: { role: "crowd-times" } });
  private readonly box: HTMLInputElement;
  private readonly number: HTMLInputElement;
  private readonly range: HTMLInputElement;
  private readonly measure: HTMLButtonElement;
  private times: number[] = [];
  private speeds: Partial<Record<Method, number>> = {};
  /** Marker of the frame that the GPU is drawing. */
  private fence: WebGLSync | null = null;
  private began = 0;
  private measuring = false;

  constructor(private readonly viewer: Viewer) {
    const title = "Many instances of the active view and of other ticked skins, each in its own phase (C)";
    this.box = el("input", { type: "checkbox", title });
    this.box.onchange = () => void this.show(this.box.checked);
    const on = el("label", { className: "toggle", title, data: { role: "crowd" } }, this.box, "Show a crowd");
    const name = "Number of instances";
    this.number = el("input", { type: "number", min: String(MIN_INSTANCES), max: String(MAX_INSTANCES), title: name });
    this.range = el("input", { type: "range", min: "0", max: "4", step: "0.05", title: `${name}, logarithmic` });
    this.number.oninput = () => this.setCount(Number(this.number.value));
    this.range.oninput = () => this.setCount(Math.round(10 ** Number(this.range.value)));
    const label = el("span", { textContent: "Instances" });
    const size = el("label", { className: "slider", data: { role: "crowd-count" } }, label, this.number);
    const choose = (at: number): void => {
      this.method = METHODS[at]![0];
      this.times = [];
      viewer.changed();
    };
    const names = METHODS.map(([, text]) => text);
    const method = choice("Drawn as", names, 0, choose);
    method.dataset["role"] = "crowd-method";
    this.measure = button("Measure", "Measure the time per frame against the number of instances", () => {
      void this.measureTimes();
    });
    this.measure.dataset["role"] = "crowd-measure";
    this.element = section("Crowd", on, size, this.range, method, this.measure, this.facts, this.table);
    this.showCount();
    const members = (): string =>
      this.members()
        .map((view) => `${view.id} ${view.model.clip}`)
        .join();
    onlyWhenChanged(
      viewer,
      () => `${members()} ${viewer.state.split}`,
      () => void this.follow(),
    );
  }

  async show(wanted: boolean): Promise<void> {
    const { viewer } = this;
    this.wanted = wanted;
    if (wanted) viewer.state.split = false;
    await this.build();
    this.frame();
    if (this.crowd) viewer.play(true);
    else if (wanted) viewer.say("A crowd needs an asset with a motion");
  }

  /** Frames the crowd, or the shown views if there is none. */
  frame(): void {
    const { crowd, viewer } = this;
    if (crowd) viewer.stage.frame([crowd.leader.model.info], crowd.reach);
    else viewer.frameShown();
  }

  /** Draws the crowd when `requested`, unless the GPU is busy with the last frame: the page is never blocked. */
  tick(requested: boolean): void {
    const { crowd, viewer } = this;
    if (!crowd || this.measuring) return;
    if (this.fence && !this.isDone(this.fence)) {
      if (requested) viewer.stage.invalidate();
      return;
    }
    if (this.fence) this.finished(crowd);
    if (!requested) return;
    this.began = performance.now();
    this.draw(crowd, this.method);
    const gl = viewer.stage.renderer.getContext() as WebGL2RenderingContext;
    this.fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
  }

  /** Measures the time per frame of crowds of several sizes with all methods. */
  async measureTimes(): Promise<void> {
    const { viewer } = this;
    const members = this.members();
    if (members.length === 0 || this.measuring) return;
    [this.measuring, this.measure.disabled] = [true, true];
    this.measured = [];
    const skipped = new Set<Method>();
    for (const instances of MEASURED_COUNTS) {
      const made = await viewer.attempt(Crowd.create(viewer, members, instances));
      if (!made) break;
      viewer.stage.frame([made.leader.model.info], made.reach);
      const ms: Measured["ms"] = { levels: null, full: null, uploads: null };
      for (const [method] of METHODS) {
        if (skipped.has(method)) continue;
        const time = await this.timeOf(made, method);
        // A crowd that is not uploaded completely is not comparable.
        if (method === "uploads" && made.stats.hidden > 0) {
          skipped.add(method);
          continue;
        }
        ms[method] = time;
        // The time of crowds with levels does not grow with the number of instances.
        if (method !== "levels" && time > MAX_MEASURED_MS / 10) skipped.add(method);
      }
      made.dispose();
      this.measured.push({ instances, ms });
      this.showTimes();
    }
    [this.measuring, this.measure.disabled] = [false, false];
    await this.build();
    this.frame();
  }

  /** Median time of a few frames. The page handles events between them. */
  private async timeOf(crowd: Crowd, method: Method): Promise<number> {
    const times: number[] = [];
    for (let at = 0; at < MEASURED_FRAMES; at++) {
      const began = performance.now();
      this.draw(crowd, method, at);
      this.viewer.stage.finish();
      times.push(performance.now() - began);
      await new Promise((resume) => setTimeout(resume));
      if (times[0]! > 4 * MAX_MEASURED_MS) break;
    }
    const counted = times.length > 1 ? times.slice(1) : times;
    return counted.sort((a, b) => a - b)[Math.floor(counted.length / 2)]!;
  }

  private draw(crowd: Crowd, method: Method, frame = this.viewer.state.frame): void {
    const { stage } = this.viewer;
    crowd.method = method;
    // The first picture sets the projection, which determines the levels of detail.
    if (this.times.length === 0) stage.draw([]);
    crowd.prepare(frame);
    stage.draw([crowd.group]);
  }

  private isDone(fence: WebGLSync): boolean {
    const gl = this.viewer.stage.renderer.getContext() as WebGL2RenderingContext;
    return gl.getSyncParameter(fence, gl.SYNC_STATUS) === gl.SIGNALED;
  }

  /** Takes the time of a frame that the GPU has completed. */
  private finished(crowd: Crowd): void {
    const gl = this.viewer.stage.renderer.getContext() as WebGL2RenderingContext;
    gl.deleteSync(this.fence);
    this.fence = null;
    const ms = performance.now() - this.began;
    this.times.push(ms);
    if (this.times.length > 20) this.times.shift();
    // The first frame includes compilation and uploads.
    if (this.times.length > 1) crowd.adapt(ms);
    this.report(crowd);
  }

  private setCount(count: number): void {
    if (!Number.isFinite(count) || count < MIN_INSTANCES) return;
    this.count = Math.min(Math.round(count), MAX_INSTANCES);
    this.showCount();
    if (this.crowd) void this.show(true);
  }

  private showCount(): void {
    if (document.activeElement !== this.number) this.number.value = String(this.count);
    this.range.value = String(Math.log10(this.count));
    this.range.ariaValueText = `${this.count} instances`;
  }

  /** Rebuilds the crowd for another view; side by side there is none. */
  private async follow(): Promise<void> {
    const none = this.members().length === 0;
    this.box.disabled = this.measure.disabled = none;
    if (this.measuring) return;
    if (this.wanted && this.viewer.state.split) await this.show(false);
    else if (this.wanted) await this.build();
  }

  /** The active view and, if that is a skin, the last ticked skin of every other asset. */
  private members(): View[] {
    const { active, ticked, models } = this.viewer;
    if (!active || (framesOf(active) < 2 && active.model.info.lods.length === 0)) return [];
    const skin = (view: View): boolean => view.figure.poser.kind === "skin";
    const others = skin(active) ? models.filter((model) => model !== active.model) : [];
    const last = others.map((model) => ticked.findLast((view) => view.model === model && skin(view)));
    return [active, ...last.filter((view) => view !== undefined)];
  }

  private async build(): Promise<void> {
    const { viewer } = this;
    const build = ++this.built;
    const members = this.wanted ? this.members() : [];
    const made = members.length > 0 ? await viewer.attempt(Crowd.create(viewer, members, this.count)) : null;
    // Another crowd may have been requested in the meantime.
    if (build !== this.built) {
      made?.dispose();
      return;
    }
    this.crowd?.dispose();
    this.crowd = made;
    for (const batch of made?.batches ?? []) viewer.pinned.add(batch.view);
    this.wanted = this.box.checked = made !== null;
    this.times = [];
    this.speeds = {};
    this.facts.textContent = "";
    for (const part of this.ignored) part.inert = this.wanted;
    document.body.classList.toggle("crowded", this.wanted);
    viewer.changed();
  }

  private report(crowd: Crowd): void {
    if (this.times.length < 3) return;
    const middle = [...this.times].sort((a, b) => a - b)[Math.floor(this.times.length / 2)]!;
    this.speeds[crowd.method] = middle;
    const { instances, triangles, levels, pictures, hidden } = crowd.stats;
    const count = (number: number): string => number.toLocaleString("en");
    const meshes = levels.length > 1 ? `by level: ${levels.map(count).join(", ")}` : `${count(levels[0] ?? 0)} meshes`;
    const parts = [
      `${count(instances)} instances of ${crowd.names}, ${count(triangles)} triangles`,
      `${(1000 / middle).toFixed(1)} frames/s (${middle.toFixed(1)} ms)`,
      meshes,
    ];
    if (pictures > 0) parts.push(`${count(pictures)} pictures`);
    if (hidden > 0) parts.push(`${count(hidden)} ${crowd.method === "uploads" ? "exceed the memory" : "out of view"}`);
    if (crowd.hasOnePose) parts.push("streamed: all in the pose of this frame");
    const { full, levels: skinned, uploads } = this.speeds;
    const gpu = full ?? skinned;
    if (gpu && uploads) parts.push(`skinning on the GPU is ${(uploads / gpu).toFixed(2)} × as fast as uploading every vertex`);
    this.facts.textContent = parts.join(" · ");
  }

  private showTimes(): void {
    const head = el("tr", {}, el("th", { textContent: "Instances" }));
    head.append(...METHODS.map(([, , name]) => el("th", { textContent: `${name}, ms` })));
    const cell = (ms: number | null): HTMLElement => el("td", { textContent: ms === null ? "–" : ms.toFixed(1) });
    const rows = this.measured.map(({ instances, ms }) =>
      el("tr", {}, el("th", { textContent: instances.toLocaleString("en") }), ...METHODS.map(([m]) => cell(ms[m]))),
    );
    this.table.replaceChildren(head, ...rows);
  }
}
