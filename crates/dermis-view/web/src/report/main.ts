// The script of a report: the tables and curves, and the viewer over the data that the file carries.

import pageStyle from "../style.css?inline";
import { cells, Stage } from "../stage";
import { el } from "../ui/dom";
import { heatbar } from "../ui/heatbar";
import { clipPanel, heatPanel, lookPanel, measuresPanel, onlyWhenChanged, viewList } from "../ui/panels";
import { timeline } from "../ui/timeline";
import { Viewer } from "../viewer";
import { curves, summary, weights } from "./charts";
import { EmbeddedSource, type ReportData } from "./embedded";
import reportStyle from "./style.css?inline";

async function view(data: ReportData, box: HTMLElement): Promise<void> {
  const source = new EmbeddedSource(data);
  const scene = await source.scene();
  const [panel, canvas] = [el("aside", { className: "left" }), el("div", { className: "stage" })];
  box.append(panel, canvas);
  const stage = new Stage(canvas);
  // The page scrolls; the wheel turns into zoom only with a key held.
  stage.controls.enableZoom = false;
  canvas.addEventListener("wheel", (event) => (stage.controls.enableZoom = event.ctrlKey), { capture: true });
  const viewer = new Viewer(source, stage, scene);
  stage.frame(scene.assets);
  for (const info of scene.assets) await viewer.add(info);
  const labels = el("div", { className: "labels" });
  canvas.append(labels, heatbar(viewer));
  onlyWhenChanged(
    viewer,
    () => viewer.columns.map((v) => v.id).join(),
    () => {
      labels.style.gridTemplateColumns = `repeat(${cells(viewer.columns.length).columns}, 1fr)`;
      labels.replaceChildren(...viewer.columns.map((v) => el("span", { textContent: v.label })));
    },
  );
  panel.append(viewList(viewer), clipPanel(viewer), lookPanel(viewer), heatPanel(viewer), measuresPanel(viewer));
  box.append(timeline(viewer));
  const [original, best] = [viewer.views.findIndex((v) => v.tag === "original"), viewer.views.length - 1];
  viewer.state.compared = new Set([original, best].flatMap((at) => viewer.views[at]?.id ?? []));
  Object.assign(viewer.state, { split: true, active: best, heat: "error" });
  viewer.changed();
  let last = performance.now();
  const step = (now: number): void => {
    viewer.tick(Math.min((now - last) / 1000, 0.25));
    last = now;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
  Object.assign(window, { dermis: { viewer } });
  await viewer.measure();
}

function show(): void {
  const data = JSON.parse(document.getElementById("data")!.textContent!) as ReportData;
  const { facts } = data;
  document.head.append(el("style", { textContent: pageStyle + reportStyle }));
  const box = el("div", { className: "viewer" });
  const words = `${facts.sequence}: ${facts.points.toLocaleString("en")} points, ${facts.triangles.toLocaleString("en")} triangles, ${facts.frames} frames at ${facts.fps} per second. Lengths in ${facts.unit}. dermis ${facts.version}.`;
  const thinned = facts.frame_step > 1 ? ` One frame in ${facts.frame_step} is shown.` : "";
  document
    .getElementById("report")!
    .replaceChildren(
      el("h1", { textContent: facts.title }),
      el("p", { className: "hint", textContent: words }),
      el("h2", { textContent: "Summary" }),
      summary(facts),
      el("h2", { textContent: "View" }),
      box,
      el("p", {
        className: "hint",
        textContent: `Drag to turn, right drag to move, Ctrl + wheel to come nearer.${thinned}`,
      }),
      el("h2", { textContent: "Errors" }),
      curves(facts),
      el("h2", { textContent: "Weights" }),
      weights(facts),
    );
  view(data, box).catch((error: Error) =>
    box.replaceChildren(el("p", { className: "failure", textContent: error.message })),
  );
}

show();
