// Panels of the tools: brush, crowd, live deformers.

import type { ServerSource } from "../source";
import type { Brush, BrushMode } from "../tools/brush";
import { Crowd } from "../tools/crowd";
import { LAYERS, Live } from "../tools/live";
import { framesOf, type View, type Viewer } from "../viewer";
import { button, el, section, type Slider, slider, toggle } from "./dom";
import { onlyWhenChanged } from "./panels";

/** Rest-pose editing and painting. */
export function brushPanel(viewer: Viewer, brush: Brush, source: ServerSource): HTMLElement {
  const modes: [BrushMode, string][] = [
    ["off", "Off"],
    ["sculpt", "Displace"],
    ["smooth", "Smooth"],
    ["paint", "Paint"],
  ];
  const buttons = modes.map(([mode, label]) => {
    const one = button(
      label,
      mode === "paint" ? `Paint ${viewer.scene.paint ?? "a mask"}` : `${label} the rest pose`,
      () => choose(mode),
    );
    one.dataset["brush"] = mode;
    return one;
  });
  const choose = (mode: BrushMode): void => {
    brush.mode = mode;
    brush.leave();
    const { active } = viewer;
    if (mode === "paint" && active) {
      brush.paintOf(active.model);
      viewer.state.heat = "paint";
    }
    viewer.changed();
  };
  const save = button("Save", "Write the edited asset", () => void store());
  save.dataset["role"] = "save";
  const store = async (): Promise<void> => {
    const { active } = viewer;
    const model = brush.edited.find((edited) => edited === active?.model) ?? brush.edited[0];
    const result = model && (await viewer.attempt(source.save(model.info.id, brush.editOf(model))));
    if (!model || !result) return;
    brush.unsaved.delete(model);
    const { label } = model.info;
    if (result instanceof Blob) {
      download(result, `${label.replace(/\.[^.]*$/, "")}-edited.glb`);
      viewer.say(`The edited ${label} is saved as a download`);
    } else viewer.say(`Written: the edited ${label} as ${result.join(", ")}`);
  };
  const percent = (value: number): string => `${Math.round(100 * value)} %`;
  const size = { low: 0.01, high: 0.3, step: 0.005, value: brush.radius };
  const force = { low: 0.05, high: 1, step: 0.05, value: brush.strength };
  const undo = button("Undo", "Undo the last stroke (Ctrl Z)", () => brush.undo());
  const tools = el(
    "div",
    {},
    slider("Radius", size, (value) => (brush.radius = value), percent).element,
    slider("Strength", force, (value) => (brush.strength = value), percent).element,
    el("div", { className: "buttons" }, undo, save),
  );
  onlyWhenChanged(
    viewer,
    () => `${brush.mode} ${brush.edited.map((model) => model.info.label)}`,
    () => {
      for (const one of buttons) one.classList.toggle("active", one.dataset["brush"] === brush.mode);
      save.disabled = brush.edited.length === 0;
      tools.hidden = brush.mode === "off" && save.disabled;
    },
  );
  window.addEventListener("beforeunload", (event) => {
    if (brush.unsaved.size > 0) event.preventDefault();
  });
  if (viewer.scene.paint) choose("paint");
  return section("Brush", el("div", { className: "buttons" }, ...buttons), tools);
}

export function download(blob: Blob, name: string): void {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Time per frame above which a crowd starts with fewer instances. */
const SLOW_MS = 400;
const MIN_INSTANCES = 4;

export class CrowdPanel {
  readonly element: HTMLElement;
  crowd: Crowd | null = null;
  /** Panels without effect on a crowd. */
  ignored: HTMLElement[] = [];
  private wanted = false;
  private built = 0;
  private count = 49;
  /** True if the user has set the number of instances. */
  private chosen = false;
  private uploads = false;
  private readonly facts = el("p", { className: "hint", data: { role: "crowd-facts" } });
  private readonly box: HTMLInputElement;
  private readonly size: Slider;
  private times: number[] = [];
  private readonly speeds: { skinned: number | null; uploaded: number | null } = { skinned: null, uploaded: null };

  constructor(private readonly viewer: Viewer) {
    const title = "Many instances of the active view and of other ticked skins, each in its own phase (C)";
    const on = toggle("Show a crowd", title, false, (wanted) => void this.show(wanted));
    on.dataset["role"] = "crowd";
    this.box = on.firstChild as HTMLInputElement;
    const against = "Draw the crowd without skinning on the GPU, for comparison";
    const uploads = toggle("Upload every vertex", against, false, (wanted) => {
      this.uploads = wanted;
      this.times = [];
      viewer.changed();
    });
    uploads.dataset["role"] = "crowd-uploads";
    this.size = slider("Instances", { low: MIN_INSTANCES, high: 400, step: 1, value: this.count }, (value) => {
      [this.count, this.chosen] = [value, true];
      if (this.crowd) void this.show(true);
    });
    this.size.element.dataset["role"] = "crowd-count";
    this.element = section("Crowd", on, this.size.element, uploads, this.facts);
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

  /** Rebuilds the crowd for another view; side by side there is none. */
  private async follow(): Promise<void> {
    this.box.disabled = this.members().length === 0;
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
    this.wanted = this.box.checked = made !== null;
    this.times = [];
    this.speeds.skinned = this.speeds.uploaded = null;
    this.facts.textContent = "";
    for (const part of this.ignored) part.inert = this.wanted;
    document.body.classList.toggle("crowded", this.wanted);
    viewer.changed();
  }

  /** Draws the crowd and measures the time. */
  draw(): void {
    const { crowd, viewer } = this;
    if (!crowd) return;
    const began = performance.now();
    crowd.uploads = this.uploads;
    crowd.prepare(viewer.state.frame);
    viewer.stage.draw([crowd.group]);
    viewer.stage.finish();
    this.times.push(performance.now() - began);
    if (this.times.length > 20) this.times.shift();
    this.report(crowd);
    // The first frame includes compilation and uploads and is not counted.
    if (this.times.length === 2 && !this.chosen) this.shrink(this.times[1]!);
  }

  /** Starts with fewer instances if the given number is slow. */
  private shrink(ms: number): void {
    this.chosen = true;
    const fewer = Math.max(MIN_INSTANCES, Math.floor((this.count * SLOW_MS) / ms));
    if (fewer >= this.count) return;
    this.viewer.say(`${this.count} instances take ${(ms / 1000).toFixed(1)} s per frame: ${fewer} are shown`);
    this.count = fewer;
    this.size.set(fewer);
    void this.show(true);
  }

  private report(crowd: Crowd): void {
    if (this.times.length < 3) return;
    const middle = [...this.times].sort((a, b) => a - b)[Math.floor(this.times.length / 2)]!;
    this.speeds[crowd.uploads ? "uploaded" : "skinned"] = middle;
    const { instances, triangles, levels } = crowd.stats;
    const { skinned, uploaded } = this.speeds;
    const parts = [
      `${instances} instances of ${crowd.names}, ${triangles.toLocaleString("en")} triangles`,
      `${(1000 / middle).toFixed(1)} frames/s (${middle.toFixed(1)} ms)`,
    ];
    if (levels.length > 1 && !crowd.uploads) parts.push(`by level: ${levels.join(", ")}`);
    if (skinned && uploaded)
      parts.push(`skinning on the GPU is ${(uploaded / skinned).toFixed(2)} × as fast as uploading every vertex`);
    this.facts.textContent = parts.join(" · ");
  }
}

const STARTS: [keyof typeof LAYERS, string, string][] = [
  ["layers", "Layers of the file", "Rig with all layers of the file"],
  ["pose", "Pose", "Skin posed in double precision, with the stretch of its surface"],
  ["volume", "Preserve volume", "Skin that preserves its volume near bent joints"],
  ["wrinkle", "Wrinkle", "Wrinkles of compressed cloth on a refined surface"],
  ["tissue", "Simulate", "Simulated flesh that can be pulled, poked and painted"],
];

/** Live deformers of the server: a button starts one and shows its parameters. */
export function livePanel(viewer: Viewer, lives: Live[]): HTMLElement {
  const controls = el("div");
  const status = el("p", { className: "hint", data: { role: "live-status" } });
  const start = (kind: keyof typeof LAYERS): void => {
    const model = viewer.models.find((m) => m.info.id === viewer.active?.model.info.id);
    if (!model) return;
    const known = viewer.views.findIndex((v) => v.id === `${model.info.id}:${LAYERS[kind]}`);
    if (known >= 0) {
      viewer.show(known);
      return;
    }
    const live = Live.add(viewer, model, kind, () => viewer.show(viewer.views.indexOf(live.view!)));
    lives.push(live);
  };
  const buttons = STARTS.map(([kind, label, title]) => {
    const one = button(label, title, () => start(kind));
    one.dataset["live"] = kind;
    return one;
  });
  const box = section("On the server", el("div", { className: "buttons" }, ...buttons), controls, status);
  // Simulated flesh has its own panel.
  const shown = (): Live | undefined =>
    lives.find((live) => live.kind !== "tissue" && live.view !== null && live.view === viewer.active);
  onlyWhenChanged(
    viewer,
    () => `${viewer.active?.id} ${shown()?.controls.length}`,
    () => {
      const info = viewer.active?.model.info;
      const source = viewer.models.find((m) => m.info.id === info?.id)?.info;
      const moves = source !== undefined && (source.clips.length > 0 || source.recorded !== null || source.tissue);
      const offered: Record<string, boolean> = {
        layers: (source?.layers.length ?? 0) > 0,
        pose: (source?.bones.length ?? 0) > 0,
        tissue: source?.tissue ?? false,
      };
      for (const one of buttons) one.hidden = !(offered[one.dataset["live"]!] ?? true) || !moves;
      box.hidden = !moves;
      controls.replaceChildren(...(shown()?.controls ?? []));
    },
  );
  viewer.listen(() => (status.textContent = shown()?.status ?? ""));
  return box;
}
