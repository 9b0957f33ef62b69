// The panels of the tools: brush, crowd, live deformers.

import type { ServerSource } from "../source";
import type { Brush, BrushMode } from "../tools/brush";
import { Crowd } from "../tools/crowd";
import { Live } from "../tools/live";
import type { Viewer } from "../viewer";
import { button, el, section, slider, toggle } from "./dom";
import { onlyWhenChanged } from "./panels";

/** Rest-pose editing and painting. */
export function brushPanel(
  viewer: Viewer,
  brush: Brush,
  source: ServerSource,
  say: (text: string) => void,
): HTMLElement {
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
    const model = viewer.active?.model;
    if (!model) return;
    const painted = brush.mode === "paint" || !model.restVersion;
    const values = painted ? brush.paintOf(model) : model.rest;
    const what = painted ? `attributes/${encodeURIComponent(viewer.scene.paint ?? "mask")}` : "rest";
    try {
      const result = await source.save(model.info.id, what, values);
      if (result instanceof Blob) {
        download(result, `${model.info.label.replace(/\.[^.]*$/, "")}-edited.glb`);
        say("Saved as a download");
      } else say(`Written: ${result.join(", ")}`);
    } catch (error) {
      say((error as Error).message);
    }
  };
  onlyWhenChanged(
    viewer,
    () => `${brush.mode} ${brush.edited.size}`,
    () => {
      for (const one of buttons) one.classList.toggle("active", one.dataset["brush"] === brush.mode);
      save.disabled = brush.edited.size === 0;
    },
  );
  if (viewer.scene.paint) choose("paint");
  const percent = (value: number): string => `${Math.round(100 * value)} %`;
  return section(
    "Brush",
    el("div", { className: "buttons" }, ...buttons),
    slider(
      "Radius",
      { low: 0.01, high: 0.3, step: 0.005, value: brush.radius },
      (value) => (brush.radius = value),
      percent,
    ).element,
    slider(
      "Strength",
      { low: 0.05, high: 1, step: 0.05, value: brush.strength },
      (value) => (brush.strength = value),
      percent,
    ).element,
    el(
      "div",
      { className: "buttons" },
      button("Undo", "Take the last stroke back (Ctrl Z)", () => brush.undo()),
      save,
    ),
  );
}

function download(blob: Blob, name: string): void {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export class CrowdPanel {
  readonly element: HTMLElement;
  crowd: Crowd | null = null;
  private count = 49;
  private uploads = false;
  private readonly facts = el("p", { className: "hint" });
  private times: number[] = [];
  private readonly speeds: { skinned: number | null; uploaded: number | null } = { skinned: null, uploaded: null };

  constructor(
    private readonly viewer: Viewer,
    private readonly say: (text: string) => void,
  ) {
    const on = toggle(
      "Show a crowd",
      "Many instances of the active view, each in its own phase (C)",
      false,
      (wanted) => void this.show(wanted),
    );
    on.dataset["role"] = "crowd";
    this.facts.dataset["role"] = "crowd-facts";
    const uploads = toggle(
      "Upload every vertex",
      "The same crowd without skinning on the GPU, to compare",
      false,
      (wanted) => {
        this.uploads = wanted;
        if (this.crowd) this.crowd.uploads = wanted;
        this.times = [];
        viewer.changed();
      },
    );
    uploads.dataset["role"] = "crowd-uploads";
    const size = slider("Instances", { low: 4, high: 400, step: 1, value: this.count }, (value) => {
      this.count = value;
      if (this.crowd) void this.show(true);
    });
    this.element = section("Crowd", on, size.element, uploads, this.facts);
  }

  async show(wanted: boolean): Promise<void> {
    const { viewer } = this;
    this.crowd?.dispose();
    this.crowd = null;
    this.times = [];
    this.speeds.skinned = this.speeds.uploaded = null;
    (this.element.querySelector("[data-role=crowd] input") as HTMLInputElement).checked = wanted;
    const view = viewer.active;
    if (wanted && view) {
      try {
        this.crowd = await Crowd.create(viewer, view, this.count);
        this.crowd.uploads = this.uploads;
      } catch (error) {
        this.say((error as Error).message);
      }
    }
    viewer.stage.frame(
      viewer.models.map((model) => model.info),
      this.crowd?.reach ?? 1,
    );
    if (wanted) viewer.play(true);
    this.facts.textContent = "";
    viewer.changed();
  }

  /** Draws the crowd and keeps the time. */
  draw(): void {
    const { crowd, viewer } = this;
    if (!crowd) return;
    const began = performance.now();
    crowd.prepare(viewer.state.frame);
    viewer.stage.draw([crowd.group]);
    viewer.stage.finish();
    this.times.push(performance.now() - began);
    if (this.times.length > 20) this.times.shift();
    this.tell(crowd);
  }

  private tell(crowd: Crowd): void {
    if (this.times.length < 3) return;
    const middle = [...this.times].sort((a, b) => a - b)[Math.floor(this.times.length / 2)]!;
    this.speeds[crowd.uploads ? "uploaded" : "skinned"] = middle;
    const { instances, triangles, levels } = crowd.stats;
    const { skinned, uploaded } = this.speeds;
    const parts = [
      `${instances} instances, ${triangles.toLocaleString("en")} triangles`,
      `${(1000 / middle).toFixed(1)} pictures/s (${middle.toFixed(1)} ms)`,
    ];
    if (levels.length > 1 && !crowd.uploads) parts.push(`by level: ${levels.join(", ")}`);
    if (skinned && uploaded)
      parts.push(`skinned on the GPU is ${(uploaded / skinned).toFixed(2)} × as fast as uploading every vertex`);
    this.facts.textContent = parts.join(" · ");
  }
}

/** Deformers in the server. */
export function livePanel(viewer: Viewer, lives: Live[]): HTMLElement {
  const sliders = el("div");
  const box = section("On the server");
  const start = button(
    "Pose on the server",
    "A view in double precision, streamed, with the stretch of the surface",
    () => {
      const view = viewer.views.find((v) => v.model === viewer.active?.model && v.tag !== "original");
      if (!view || viewer.views.some((v) => v.tag === "on the server" && v.model === view.model)) return;
      const live = Live.pose(viewer, view, () => {
        sliders.append(...live.sliders.map((one) => one.element));
        viewer.show(viewer.views.length - 1);
      });
      lives.push(live);
    },
  );
  start.dataset["role"] = "live";
  box.append(start, sliders);
  onlyWhenChanged(
    viewer,
    () => String(viewer.models.some((model) => model.info.bones.length > 0)),
    () => {
      box.hidden = !viewer.models.some((model) => model.info.bones.length > 0);
    },
  );
  return box;
}
