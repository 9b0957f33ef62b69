// Object list: the assets and their parts, which can be shown, hidden, isolated and removed.

import type { Model } from "../gpu/model";
import type { Viewer } from "../viewer";
import { button, el, section } from "./dom";
import { onlyWhenChanged } from "./panels";

export function objectList(viewer: Viewer): HTMLElement {
  const list = el("div", { className: "objects", data: { role: "objects" } });
  const box = section("Objects", list);
  onlyWhenChanged(
    viewer,
    () =>
      JSON.stringify([
        viewer.models.map(({ info, surface }) => [info.id, surface.version, [...surface.hidden]]),
        [...viewer.state.hidden],
        viewer.active?.id,
        markedPart(viewer),
      ]),
    () => {
      box.hidden = viewer.models.length === 0;
      list.replaceChildren(...viewer.models.map((model) => entry(viewer, model)));
    },
  );
  return box;
}

/** Part of the selected point. */
function markedPart(viewer: Viewer): { model: Model; part: number } | null {
  const { marked } = viewer.state;
  if (!marked || marked.model.surface.parts.length < 2) return null;
  const triangle = Math.floor(marked.model.triangles.indexOf(marked.point) / 3);
  return { model: marked.model, part: marked.model.surface.partOf(triangle) };
}

function entry(viewer: Viewer, model: Model): HTMLElement {
  const { info, surface } = model;
  const hidden = viewer.state.hidden.has(info.id);
  const name = button(info.label, `Show ${info.label}: ${info.points.toLocaleString("en")} points`, () => {
    viewer.setHidden(info.id, false);
    const last = viewer.views.findLastIndex((view) => view.model.info.id === info.id);
    if (viewer.active?.model.info.id !== info.id) viewer.activate(last);
  });
  name.className = viewer.active?.model.info.id === info.id ? "row active" : "row";
  const row = el(
    "div",
    { className: hidden ? "object hidden" : "object", data: { object: info.label } },
    eye(hidden, info.label, () => viewer.setHidden(info.id, !hidden)),
    name,
    small("◎", `Show only ${info.label}`, "isolate", () => viewer.isolate(info.id)),
    small("✕", `Remove ${info.label} from the page; the file is kept`, "remove", () => viewer.remove(info.id)),
  );
  if (surface.parts.length < 2) return row;
  const marked = markedPart(viewer);
  const parts = surface.parts.map((part, at) => {
    const gone = surface.hidden.has(at);
    const label = part.name || `part ${at}`;
    const title = `${label}: ${part.triangles.toLocaleString("en")} triangles`;
    const set = (): void => {
      surface.setHidden(at, !gone);
      viewer.changed();
    };
    const isolate = (): void => {
      surface.isolate(at);
      viewer.changed();
    };
    const text = button(label, title, isolate);
    text.className = marked?.model === model && marked.part === at ? "row active" : "row";
    return el(
      "div",
      { className: gone ? "object part hidden" : "object part", data: { part: label } },
      eye(gone, label, set),
      text,
      small("◎", `Show only ${label}`, "isolate", isolate),
    );
  });
  return el("div", {}, row, ...parts);
}

function eye(hidden: boolean, label: string, act: () => void): HTMLButtonElement {
  const one = small(hidden ? "○" : "●", `${hidden ? "Show" : "Hide"} ${label}`, "eye", act);
  one.setAttribute("aria-pressed", String(!hidden));
  return one;
}

function small(text: string, title: string, role: string, act: () => void): HTMLButtonElement {
  const one = button(text, title, act);
  one.className = "small";
  one.dataset["role"] = role;
  one.setAttribute("aria-label", title);
  return one;
}
