// Panel of the bones: the joint tree, whose branches can be collapsed. A click on a bone shows its weights.

import type { Model } from "../gpu/model";
import type { BoneInfo } from "../source";
import type { Viewer } from "../viewer";
import { button, el, section } from "./dom";
import { onlyWhenChanged } from "./panels";
import { boneStats, meanInfluences } from "./weightstats";

export function bonePanel(viewer: Viewer): HTMLElement {
  const tree = el("div", { className: "tree", data: { role: "bones" } });
  const facts = el("table", { className: "numbers", data: { role: "bone-facts" } });
  const search = el("input", { type: "text", placeholder: "Find a bone", title: "Find a bone by its name" });
  search.oninput = () => {
    const text = search.value.toLowerCase();
    rows.forEach((entry) => entry.classList.toggle("found", text !== "" && entry.textContent!.toLowerCase().includes(text)));
    tree.querySelector(".found")?.scrollIntoView({ block: "nearest" });
  };
  const box = section("Bones", search, tree, facts);
  box.hidden = true;
  let rows: HTMLButtonElement[] = [];
  onlyWhenChanged(
    viewer,
    () => String(viewer.active?.model.info.id),
    () => {
      const bones = viewer.active?.model.info.bones ?? [];
      box.hidden = bones.length === 0;
      search.hidden = bones.length < 12;
      rows = bones.map((bone, at) => row(viewer, bone, at));
      const roots = bones.flatMap((bone, at) => (bone.parent === null ? [branch(bones, rows, at)] : []));
      tree.replaceChildren(...roots);
    },
  );
  viewer.listen(() => {
    const model = viewer.active?.model;
    const selected = model && viewer.state.heat === "weight" ? viewer.boneIn(model) : -1;
    const hovered = model && viewer.state.hovered?.model === model ? viewer.state.hovered.bone : -1;
    rows.forEach((entry, at) => {
      entry.classList.toggle("active", at === selected);
      entry.classList.toggle("hovered", at === hovered);
    });
  });
  onlyWhenChanged(
    viewer,
    () => `${viewer.active?.id} ${selectedIn(viewer)}`,
    () => {
      const model = viewer.active?.model;
      const selected = selectedIn(viewer);
      facts.replaceChildren(...(model && model.slots > 0 ? factRows(model, selected) : []));
      const entry = rows[selected];
      for (let up = entry?.parentElement; up && up !== tree; up = up.parentElement) {
        if (up instanceof HTMLDetailsElement) up.open = true;
      }
      // Only the list scrolls, not the panel.
      if (entry) tree.scrollTop = Math.min(Math.max(tree.scrollTop, entry.offsetTop - tree.offsetTop - tree.clientHeight + 24), entry.offsetTop - tree.offsetTop);
    },
  );
  return box;
}

/** Index of the bone whose weights are shown in the active view, or −1. */
function selectedIn(viewer: Viewer): number {
  const model = viewer.active?.model;
  return model && viewer.state.heat === "weight" ? viewer.boneIn(model) : -1;
}

function factRows(model: Model, bone: number): HTMLElement[] {
  const fact = (name: string, value: string, unit: string, key: string): HTMLElement =>
    el(
      "tr",
      {},
      el("th", { textContent: name }),
      el("td", { textContent: value, data: { fact: key } }),
      el("td", { textContent: unit }),
    );
  const mean = fact("Influences", meanInfluences(model).toFixed(2), "mean per point", "influences");
  if (bone < 0) return [mean];
  const { points, parts, islands, largest } = boneStats(model, bone);
  return [
    fact("Points", points.toLocaleString("en"), "with weight", "points"),
    fact("Parts", String(parts), "connected", "parts"),
    fact("Islands", String(islands), "small parts", "islands"),
    fact("Largest weight", largest.toFixed(3), "", "largest"),
    mean,
  ];
}

function row(viewer: Viewer, bone: BoneInfo, at: number): HTMLButtonElement {
  const entry = button(bone.name || `bone ${at}`, "Show the weights of this bone", () => {
    const model = viewer.active?.model;
    if (model) viewer.selectBone(model, at);
  });
  entry.className = "row";
  const hover = (on: boolean): void => {
    const model = viewer.active?.model;
    viewer.state.hovered = on && model ? { model, bone: at } : null;
    viewer.changed();
  };
  entry.onpointerenter = () => hover(true);
  entry.onpointerleave = () => hover(false);
  return entry;
}

/** A bone and all bones below it. End joints are not shown. */
function branch(bones: BoneInfo[], rows: HTMLButtonElement[], at: number): HTMLElement {
  const children = bones.flatMap((bone, child) => (bone.parent === at && !bone.is_end ? [child] : []));
  if (children.length === 0) return el("div", { className: "leaf" }, rows[at]!);
  const below = children.map((child) => branch(bones, rows, child));
  return el("details", { open: true }, el("summary", {}, rows[at]!), el("div", { className: "below" }, ...below));
}
