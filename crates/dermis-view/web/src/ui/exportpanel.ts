// Panel of the export: picture, videos and link.

import { clip, link, png, type Recording, turntable } from "../export";
import type { Viewer } from "../viewer";
import { button, el, section } from "./dom";
import { download } from "./toolpanels";

export function exportPanel(viewer: Viewer): HTMLElement {
  const status = el("progress", { max: 1, value: 0, hidden: true });
  const stem = (): string => (viewer.active?.model.info.label ?? "dermis").replace(/\.[^.]*$/, "").replace(/\W+/g, "-");
  let busy = false;
  const video = (make: typeof clip, suffix: string) => async (): Promise<void> => {
    if (busy) return;
    busy = true;
    for (const one of buttons) one.disabled = true;
    status.hidden = false;
    const done = await viewer.attempt<Recording>(make(viewer, (fraction) => (status.value = fraction)));
    status.hidden = true;
    for (const one of buttons) one.disabled = false;
    busy = false;
    if (!done) return;
    download(done.blob, `${stem()}${suffix}.${done.extension}`);
    const frames = done.extension === "zip" ? "; this browser cannot encode videos, so it contains pictures" : "";
    viewer.say(`${stem()}${suffix}.${done.extension} is saved as a download${frames}`);
  };
  const picture = async (): Promise<void> => {
    const blob = await viewer.attempt(png(viewer, 2));
    if (!blob) return;
    const { frame } = viewer.state;
    download(blob, `${stem()}-${frame}.png`);
    viewer.say(`${stem()}-${frame}.png is saved as a download`);
  };
  const copy = async (): Promise<void> => {
    const address = link(viewer);
    history.replaceState(null, "", address);
    try {
      await navigator.clipboard.writeText(address);
      viewer.say("The link is copied; it is also in the address bar");
    } catch {
      viewer.say("The link is in the address bar");
    }
  };
  const entries: [string, string, string, () => void][] = [
    ["png", "Picture", "Save the picture as PNG, twice as large as shown", () => void picture()],
    ["turntable", "Turntable", "Save one rotation of the camera as a video", () => void video(turntable, "-turntable")()],
    ["clip", "Clip", "Save the frames of the timeline as a video", () => void video(clip, "-clip")()],
    ["link", "Copy link", "Copy a link that restores this view while the server runs", () => void copy()],
  ];
  const buttons = entries.map(([role, label, title, act]) => {
    const one = button(label, title, act);
    one.dataset["export"] = role;
    return one;
  });
  return section("Export", el("div", { className: "buttons" }, ...buttons), status);
}
