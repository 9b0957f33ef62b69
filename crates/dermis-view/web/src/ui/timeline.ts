// Timeline: play, step, scrub (also during playback), loop, frames per second.

import type { Viewer } from "../viewer";
import { button, el, toggle } from "./dom";

export function timeline(viewer: Viewer): HTMLElement {
  const { state } = viewer;
  const play = button("▶", "Play or pause (Space)", () => viewer.play(!state.playing));
  play.className = "play";
  const step = (by: number): void => {
    viewer.play(false);
    viewer.setFrame(state.frame + by);
  };
  const scrub = el("input", { type: "range", className: "scrub", title: "Frame; drag to scrub" });
  Object.assign(scrub, { min: "0", step: "1", value: "0" });
  scrub.dataset["role"] = "scrub";
  let held = false;
  scrub.oninput = () => {
    viewer.setFrame(Number(scrub.value));
    viewer.play(state.playing && !held);
  };
  // Playback pauses while the handle is held and continues from its position.
  let resume = false;
  scrub.onpointerdown = () => {
    [held, resume] = [true, state.playing];
    viewer.play(false);
  };
  scrub.onpointerup = () => {
    held = false;
    if (resume) viewer.play(true);
  };
  const counter = el("output", { className: "counter", title: "Frame and number of frames" });
  const fps = el("input", { type: "number", className: "fps", min: "1", max: "240", title: "Frames per second" });
  fps.onchange = () => {
    state.fps = Math.min(Math.max(Number(fps.value) || 24, 1), 240);
    viewer.changed();
  };
  const loop = toggle("Loop", "Repeat the motion (L)", state.loop, (on) => {
    state.loop = on;
    viewer.changed();
  });
  const show = (): void => {
    play.textContent = state.playing ? "II" : "▶";
    play.disabled = scrub.disabled = viewer.frameCount < 2;
    (loop.firstChild as HTMLInputElement).checked = state.loop;
    scrub.max = String(viewer.frameCount - 1);
    scrub.value = String(state.frame);
    counter.textContent = `${state.frame} / ${viewer.frameCount - 1}`;
    if (document.activeElement !== fps) fps.value = String(Number(state.fps.toFixed(3)));
  };
  viewer.listen(show);
  show();
  return el(
    "footer",
    { className: "timeline" },
    button("|‹", "First frame (Home)", () => viewer.setFrame(0)),
    button("‹", "Previous frame (←)", () => step(-1)),
    play,
    button("›", "Next frame (→)", () => step(1)),
    button("›|", "Last frame (End)", () => viewer.setFrame(viewer.frameCount - 1)),
    scrub,
    counter,
    el("label", { className: "field" }, fps, "fps"),
    loop,
  );
}
