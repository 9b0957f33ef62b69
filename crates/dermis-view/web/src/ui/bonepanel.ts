// Panel of the bones: the joint tree, whose branches can be collapsed. A click on a bone shows its weights.

import type { BoneInfo } from "../source";
import type { Viewer } from "../viewer";
import { button, el, section } from "./dom";
import { onlyWhenChanged } from "./panels";

export function bonePanel(viewer: Viewer): HTMLElement {
  const tree = el("div", { className: "tree", data: { role: "bones" } });
  const box = section("Bones", tree);
  box.hidden = true;
  let rows: HTMLButtonElement[] = [];
  onlyWhenChanged(
    viewer,
    () => String(viewer.active?.model.info.id),
    () => {
      const bones = viewer.active?.model.info.bones ?? [];
      box.hidden = bones.length === 0;
      rows = bones.map((bone, at) => row(viewer, bone, at));
      const roots = bones.flatMap((bone, at) => (bone.parent === null ? [branch(bones, rows, at)] : []));
      tree.replaceChildren(...roots);
    },
  );
  viewer.listen(() => {
    const model = viewer.active?.model;
    const selected = model && viewer.state.heat === "weight" ? viewer.boneIn(model) : -1;
    rows.forEach((entry, at) => entry.classList.toggle("active", at === selected));
  });
  return box;
}

function row(viewer: Viewer, bone: BoneInfo, at: number): HTMLButtonElement {
  const entry = button(bone.name || `bone ${at}`, "Show the weights of this bone", () => {
    const model = viewer.active?.model;
    if (model) viewer.selectBone(model, at);
  });
  entry.className = "row";
  return entry;
}

/** A bone and all bones below it. End joints are not shown. */
function branch(bones: BoneInfo[], rows: HTMLButtonElement[], at: number): HTMLElement {
  const children = bones.flatMap((bone, child) => (bone.parent === at && !bone.is_end ? [child] : []));
  if (children.length === 0) return el("div", { className: "leaf" }, rows[at]!);
  const below = children.map((child) => branch(bones, rows, child));
  return el("details", { open: true }, el("summary", {}, rows[at]!), el("div", { className: "below" }, ...below));
}
