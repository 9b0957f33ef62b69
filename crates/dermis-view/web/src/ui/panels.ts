// Panels: display options (left) and measures (right).

import { SURFACES } from "../gpu/surface";
import type { HeatName, Tag, Viewer } from "../viewer";
import { button, el, section, slider, toggle } from "./dom";
import { ladderRows } from "./ladder";

/** Maximum number of characters of a view's name in the list. */
const NAME_LENGTH = 25;

/** List of views: a click shows a view, a tick adds it to the comparison. */
export function viewList(viewer: Viewer): HTMLElement {
  const list = el("div", { className: "views" });
  const split = toggle("Side by side", "Show all ticked views side by side with one camera (2)", false, (on) => {
    viewer.state.split = on;
    viewer.changed();
  });
  const flip = button("A/B flip", "Show the next ticked view instead (X)", () => viewer.flip());
  const left = el("p", { className: "hint" });
  const show = (): void => {
    const box = split.firstChild as HTMLInputElement;
    box.checked = viewer.state.split;
    box.disabled = flip.disabled = viewer.views.length < 2;
    const [shown, ticked] = [viewer.columns.length, viewer.ticked.length];
    left.textContent = viewer.state.split && ticked > shown ? `${shown} of ${ticked} ticked views are shown` : "";
    const rows = viewer.views.map((view, at) => {
      const box = el("input", { type: "checkbox", checked: viewer.state.compared.has(view.id), title: "Compare" });
      box.ariaLabel = `Compare ${view.label}`;
      box.onchange = () => {
        if (box.checked) viewer.state.compared.add(view.id);
        else viewer.state.compared.delete(view.id);
        viewer.changed();
      };
      // Long file names are shortened in the middle, since the ends of file names and the tags of views often differ.
      const file = shortened(view.model.info.label, NAME_LENGTH - view.tag.length);
      const label = view.label === view.tag ? view.tag : `${file} · ${view.tag}`;
      const name = button(label, `Show ${view.label}`, () => viewer.show(at));
      name.className = at === viewer.state.active ? "row active" : "row";
      return el("div", { className: "view", data: { view: view.tag } }, box, name);
    });
    list.replaceChildren(...rows);
  };
  onlyWhenChanged(
    viewer,
    () =>
      JSON.stringify([
        viewer.views.map((v) => v.label),
        [...viewer.state.compared],
        viewer.state.active,
        viewer.state.split,
      ]),
    show,
  );
  return section("Views", list, el("div", { className: "buttons" }, split, flip), left);
}

function shortened(file: string, maxLength: number): string {
  const stem = file.length <= maxLength ? file : file.replace(/\.\w+$/, "");
  const head = Math.floor(maxLength / 3);
  return stem.length <= maxLength ? stem : `${stem.slice(0, head)}…${stem.slice(head + 1 - maxLength)}`;
}

/** Surface and overlays. */
export function lookPanel(viewer: Viewer): HTMLElement {
  const { look } = viewer.state;
  const part = (label: string, title: string, name: keyof typeof look): HTMLElement => {
    const box = toggle(label, title, look[name], (on) => {
      look[name] = on;
      viewer.changed();
    });
    const input = box.firstChild as HTMLInputElement;
    viewer.listen(() => {
      input.checked = look[name];
      input.disabled = name === "bones" && !viewer.models.some((model) => model.info.bones.length > 0);
    });
    return box;
  };
  const surfaces = SURFACES.map((name) => {
    const one = button(name[0]!.toUpperCase() + name.slice(1), SURFACE_TITLES[name], () => {
      viewer.state.surface = name;
      // A heat map covers the surface.
      viewer.state.heat = "none";
      viewer.changed();
    });
    one.dataset["surface"] = name;
    return one;
  });
  viewer.listen(() => {
    for (const one of surfaces) one.classList.toggle("active", one.dataset["surface"] === viewer.state.surface);
  });
  return section(
    "Display",
    el("div", { className: "switch" }, ...surfaces),
    el(
      "div",
      { className: "grid2" },
      part("Wireframe", "Edges (W)", "wireframe"),
      part("Normals", "Normals of the posed shape (N)", "normals"),
      part("Bones", "Bones or joints (B)", "bones"),
      part("Facets", "Flat shading (G)", "flat"),
      part("Onion skin", "Ghosts of the frames before and after (K)", "onion"),
    ),
  );
}

const SURFACE_TITLES: Record<(typeof SURFACES)[number], string> = {
  material: "Textures, vertex colours and materials of the file; clay if it has none",
  clay: "Plain clay",
  matcap: "Polished wax with a bright outline, which shows small dents",
  normals: "Normals as colours",
};

/** Selection of the heat map. */
export function heatPanel(viewer: Viewer): HTMLElement {
  const select = el("select", { title: "Heat map (H for the error)" });
  select.dataset["role"] = "heat";
  select.onchange = () => {
    viewer.state.heat = select.value as HeatName;
    viewer.changed();
  };
  const bone = el("select", { title: "Bone whose weight is shown; a click on the surface selects one too" });
  bone.onchange = () => {
    Object.assign(viewer.state, { bone: Number(bone.value), boneModel: viewer.active?.model ?? null });
    viewer.changed();
  };
  const show = (): void => {
    const names = heatNames(viewer);
    // The heat map is reset if it is no longer available, such as the error of a clip without recorded motion.
    if (!names.some(([name]) => name === viewer.state.heat)) viewer.state.heat = "none";
    select.replaceChildren(...names.map(([value, textContent]) => el("option", { value, textContent })));
    select.value = viewer.state.heat;
    const bones = viewer.active?.model.info.bones ?? [];
    bone.replaceChildren(
      ...bones.map((b, at) => el("option", { value: String(at), textContent: b.name || `bone ${at}` })),
    );
    bone.value = String(viewer.active ? viewer.boneIn(viewer.active.model) : -1);
    bone.hidden = viewer.state.heat !== "weight";
  };
  onlyWhenChanged(
    viewer,
    () => {
      const { heat, bone, boneModel } = viewer.state;
      return JSON.stringify([heatNames(viewer), heat, bone, boneModel?.info.id, viewer.active?.id]);
    },
    show,
  );
  return section("Heat map", select, bone);
}

function heatNames(viewer: Viewer): [HeatName, string][] {
  const skinned = viewer.models.some((model) => model.slots > 0);
  const names = new Set(viewer.models.flatMap((model) => [...model.attributes.keys()]));
  const possible: [boolean, HeatName, string][] = [
    [true, "none", "None"],
    [viewer.models.some((model) => model.reference !== null), "error", "Error per vertex"],
    [skinned, "bones", "Bone colours, blended"],
    [skinned, "core", "Bone colours, core triangles"],
    [skinned, "weight", "Weight of one bone"],
    [viewer.paints.size > 0, "paint", `Painted: ${viewer.scene.paint ?? "mask"}`],
    [viewer.liveScalars.size > 0, "live", [...new Set([...viewer.liveScalars.values()].map((s) => s.label))].join(", ")],
  ];
  const fixed = possible.filter(([there]) => there).map(([, name, label]): [HeatName, string] => [name, label]);
  return [...fixed, ...[...names].map((name): [HeatName, string] => [`attribute:${name}`, name])];
}

/** Rank, measures and, with several fits, the comparison by number of bones. */
export function measuresPanel(viewer: Viewer): HTMLElement {
  const rankBox = el("div");
  const numbers = el("table", { className: "numbers" });
  const ladder = el("div", { className: "ladder" });
  let shownRank = -1;
  const showRank = (): void => {
    const highest = Math.max(0, ...viewer.models.map((model) => model.info.rank));
    if (highest === shownRank) return;
    shownRank = highest;
    const range = { low: 0, high: highest, step: 1, value: viewer.state.rank };
    const control = slider("Rank", range, (value) => viewer.setRank(value));
    control.element.dataset["role"] = "rank";
    viewer.listen(() => control.set(viewer.state.rank));
    rankBox.replaceChildren(...(highest > 0 ? [control.element] : []));
  };
  const name = el("p", { className: "name", data: { role: "measured" } });
  const against = el("p", { className: "hint", data: { role: "reference" } });
  const box = section("Fit", name, against, rankBox, numbers, ladder);
  viewer.listen(showRank);
  onlyWhenChanged(
    viewer,
    () => measuresKey(viewer),
    () => {
      const view = viewer.active;
      const reference = view && viewer.referenceOf(view);
      const fitted =
        viewer.models.some((m) => m.reference !== null) || viewer.views.some((v) => v.tag.startsWith("fit"));
      box.querySelector("h2")!.textContent = fitted ? "Fit" : "Shape";
      name.textContent = view?.label ?? "";
      against.textContent = reference ? `compared with ${reference.model.info.label}` : "";
      numbers.replaceChildren(...numberRows(viewer));
      ladder.replaceChildren(...ladderRows(viewer));
    },
  );
  return box;
}

function measuresKey(viewer: Viewer): string {
  const { models, active, measures, state } = viewer;
  const clips = models.map((model) => [model.clip, model.reference, model.strokes.rest > 0]);
  return JSON.stringify([clips, active?.label, measures.size, state.rank]);
}

const NUMBERS: [string, string, string][] = [
  ["distortion_percent", "Distortion E", "%"],
  ["erms", "ERMS", ""],
  ["max_error_percent", "Largest error", "% of box"],
  ["max_error", "Largest error", "UNIT"],
  ["normal_error_rms", "Normal error", "rms"],
  ["compression", "Compression", "× bones only"],
  ["parts_per_bone", "Parts per bone", "connected"],
  ["islands", "Islands", "small parts"],
  ["mean_influences", "Influences", "mean per point"],
  ["weight_difference", "Weight difference", "mean over edges"],
];

function numberRows(viewer: Viewer): HTMLElement[] {
  const view = viewer.active;
  if (!view) return [];
  const { info } = view.model;
  const row = (name: string, value: string, unit: string, key = ""): HTMLElement =>
    el(
      "tr",
      {},
      el("th", { textContent: name }),
      el("td", { textContent: value, data: { measure: key } }),
      el("td", { textContent: unit }),
    );
  const count = (number: number): string => number.toLocaleString("en");
  const facts = [row("Points", count(info.points), `${count(info.triangles)} triangles`)];
  const bones = info.bones.filter((bone) => !bone.is_end).length;
  if (bones > 0) facts.push(row("Bones", String(bones), `${info.influences} per point`));
  // The measures are those of the skin, without layers on top of it.
  const onTop: Tag[] = ["with layers", "volume preserved", "wrinkled", "simulated"];
  const layered = onTop.includes(view.tag);
  if (layered || !viewer.referenceOf(view)) return facts;
  const rank = viewer.rankOf(view);
  const measures = viewer.measured(view.model, rank);
  const awaited = measures === undefined ? "…" : "–";
  const measured = NUMBERS.map(([key, name, unit]) =>
    row(name, measures?.text[key] ?? awaited, unit === "UNIT" ? info.unit : unit, key),
  );
  if (view.model.strokes.rest > 0) facts.push(row("Edited", "yes", "measures: file"));
  return [...facts, row("Rank", String(rank), `of ${info.rank}`, "rank"), ...measured];
}

/** Clips of the active asset, if there are several. */
export function clipPanel(viewer: Viewer): HTMLElement {
  const select = el("select", { title: "Clip" });
  const box = section("Clip", select);
  box.hidden = true;
  select.onchange = () => {
    const [model, clip] = [viewer.active?.model, Number(select.value)];
    void viewer.attempt(Promise.resolve(model?.useClip(clip))).then(() => {
      viewer.state.fps = model?.info.clips[clip]?.fps ?? viewer.state.fps;
      viewer.setFrame(0);
      return viewer.measure();
    });
  };
  onlyWhenChanged(
    viewer,
    () => `${viewer.active?.id} ${viewer.active?.model.clip}`,
    () => {
      const model = viewer.active?.model;
      box.hidden = (model?.info.clips.length ?? 0) < 2;
      const options = (model?.info.clips ?? []).map((clip, at) =>
        el("option", { value: String(at), textContent: `${clip.name || `clip ${at}`} (${clip.frames})` }),
      );
      select.replaceChildren(...options);
      select.value = String(model?.clip ?? 0);
    },
  );
  return box;
}

/** Assumptions, repairs and omissions of the readers. */
export function notesPanel(viewer: Viewer): HTMLElement {
  const list = el("ul");
  const count = el("summary");
  const box = el("details", { className: "notes" }, count, list);
  onlyWhenChanged(
    viewer,
    () => String(viewer.models.length),
    () => {
      const notes = viewer.models.flatMap(({ info }) => info.notes.map((note) => `${info.label}: ${note}`));
      box.hidden = notes.length === 0;
      count.textContent = `Notes on reading (${notes.length})`;
      list.replaceChildren(...notes.map((textContent) => el("li", { textContent })));
    },
  );
  return box;
}

/** Calls `show` when the value of `key` has changed, so that elements under the mouse are not recreated every frame. */
export function onlyWhenChanged(viewer: Viewer, key: () => string, show: () => void): void {
  let last: string | null = null;
  const check = (): void => {
    const now = key();
    if (now === last) return;
    last = now;
    show();
  };
  viewer.listen(check);
  check();
}
