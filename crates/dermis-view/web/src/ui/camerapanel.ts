// Camera: presets, framing, following, and the quality of the light.

import type { Quality } from "../gpu/shadow";
import { type Preset, PRESETS } from "../stage";
import type { Viewer } from "../viewer";
import { button, choice, el, section, toggle } from "./dom";

const QUALITY: [Quality | "auto", string][] = [
  ["auto", "Automatic"],
  ["high", "High"],
  ["medium", "Medium"],
  ["low", "Low"],
  ["none", "No shadows"],
];

/** `frame` frames the shown views. */
export function cameraPanel(viewer: Viewer, frame: () => void): HTMLElement {
  const { stage, state } = viewer;
  const names = Object.keys(PRESETS).filter((name) => name !== "perspective") as Preset[];
  const presets = names.map((name) => {
    const one = button(name[0]!.toUpperCase() + name.slice(1), `Look from the ${name}`, () => stage.look(name));
    one.dataset["camera"] = name;
    return one;
  });
  const fit = button("Frame", "Frame the shown views (F)", frame);
  fit.dataset["role"] = "frame";
  const reset = button("Reset", "Look from the front right", () => {
    viewer.frameMotion();
  });
  const follow = toggle("Follow the character", "Move the camera with the active view", state.follow, (on) => {
    state.follow = on;
    viewer.changed();
  });
  follow.dataset["role"] = "follow";
  viewer.listen(() => ((follow.firstChild as HTMLInputElement).checked = state.follow));
  const quality = choice(
    "Shadows",
    QUALITY.map(([, label]) => label),
    0,
    (at) => {
      stage.quality = QUALITY[at]![0];
      viewer.changed();
    },
  );
  quality.dataset["role"] = "quality";
  return section(
    "Camera",
    el("div", { className: "presets" }, ...presets),
    el("div", { className: "buttons" }, fit, reset),
    follow,
    quality,
  );
}
