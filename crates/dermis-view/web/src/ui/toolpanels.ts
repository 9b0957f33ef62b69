// Panels of the tools: brush and live deformers.

import { SaveConflict, type ServerSource } from "../source";
import type { Brush, BrushMode } from "../tools/brush";
import type { History } from "../tools/history";
import { LAYERS, Live } from "../tools/live";
import type { Viewer } from "../viewer";
import { button, el, section, slider } from "./dom";
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
    const conflict = async (error: Error): Promise<never> => {
      // Saving again replaces the edits of the other page.
      if (error instanceof SaveConflict) viewer.revision = await viewer.latestRevision();
      throw error;
    };
    const saving = model && source.save(model.info.id, brush.editOf(model), viewer.revision).catch(conflict);
    const result = saving && (await viewer.attempt(saving));
    if (!model || !result) return;
    model.hasBeenSaved = true;
    brush.edits.markSaved(model);
    const { label } = model.info;
    if (result instanceof Blob) {
      download(result, `${label.replace(/\.[^.]*$/, "")}-edited.glb`);
      viewer.say(`The edited ${label} is saved as a download`);
    } else {
      viewer.revision = result.revision;
      viewer.say(`Written: the edited ${label} as ${result.written.join(", ")}`);
    }
  };
  const percent = (value: number): string => `${Math.round(100 * value)} %`;
  const size = { low: 0.01, high: 0.3, step: 0.005, value: brush.radius };
  const force = { low: 0.05, high: 1, step: 0.05, value: brush.strength };
  const { buttons: steps, update } = historyButtons(brush.edits.history);
  const tools = el(
    "div",
    {},
    slider("Radius", size, (value) => (brush.radius = value), percent).element,
    slider("Strength", force, (value) => (brush.strength = value), percent).element,
    el("div", { className: "buttons" }, ...steps, save),
  );
  onlyWhenChanged(
    viewer,
    () => {
      const { canUndo, canRedo } = brush.edits.history;
      return `${brush.mode} ${brush.edited.map((model) => model.info.label)} ${canUndo} ${canRedo}`;
    },
    () => {
      for (const one of buttons) one.classList.toggle("active", one.dataset["brush"] === brush.mode);
      save.disabled = brush.edited.length === 0;
      tools.hidden = brush.mode === "off" && save.disabled && !brush.edits.history.canRedo;
      update();
    },
  );
  if (viewer.scene.paint) choose("paint");
  return section("Brush", el("div", { className: "buttons" }, ...buttons), tools);
}

/** Buttons of the history, and a function that enables them. */
export function historyButtons(history: History): { buttons: HTMLButtonElement[]; update: () => void } {
  const undo = button("Undo", "Undo the last edit (Ctrl Z)", () => history.undo());
  const redo = button("Redo", "Redo the last undone edit (Ctrl Shift Z, Ctrl Y)", () => history.redo());
  [undo.dataset["role"], redo.dataset["role"]] = ["undo", "redo"];
  const update = (): void => {
    undo.disabled = !history.canUndo;
    redo.disabled = !history.canRedo;
  };
  return { buttons: [undo, redo], update };
}

export function download(blob: Blob, name: string): void {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const STARTS: [keyof typeof LAYERS, string, string][] = [
  ["layers", "Layers of the file", "Rig with all layers of the file"],
  ["pose", "Pose", "Skin posed in double precision, with the stretch of its surface"],
  ["volume", "Preserve volume", "Skin that preserves its volume near bent joints"],
  ["wrinkle", "Wrinkle", "Wrinkles of compressed cloth on a refined surface"],
  ["tissue", "Simulate", "Simulated flesh that can be pulled, poked and painted"],
  ["balls", "Drop balls", "Rigid balls that bounce off the moving skin"],
  ["light", "Light", "Stored light with soft shadows under a rotating sun"],
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
    const live = Live.add(viewer, model, kind, () => {
      viewer.show(viewer.views.indexOf(live.view!));
      // Balls fall and the sun moves in real time.
      if (kind === "balls" || kind === "light") viewer.play(true);
    });
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
        balls: (source?.bones.length ?? 0) > 0 && (source?.clips.length ?? 0) > 0,
        light: source?.light ?? false,
      };
      for (const one of buttons) one.hidden = !(offered[one.dataset["live"]!] ?? true) || !moves;
      box.hidden = !moves;
      controls.replaceChildren(...(shown()?.controls ?? []));
    },
  );
  viewer.listen(() => (status.textContent = shown()?.status ?? ""));
  return box;
}
