// Entry point of a report: tables, curves, and the viewer of the embedded data.

import pageStyle from "../style.css?inline";
import controlStyle from "../ui/controls.css?inline";
import { Stage } from "../stage";
import { button, el } from "../ui/dom";
import { heatbar } from "../ui/heatbar";
import { labels } from "../ui/labels";
import { clipPanel, heatPanel, lookPanel, measuresPanel, viewList } from "../ui/panels";
import { timeline } from "../ui/timeline";
import { Viewer } from "../viewer";
import { curves, summary, weights } from "./charts";
import { EmbeddedSource, type ReportData } from "./embedded";
import reportStyle from "./style.css?inline";

async function view(data: ReportData, box: HTMLElement): Promise<void> {
  const source = new EmbeddedSource(data);
  const scene = await source.scene();
  const [panel, canvas] = [el("aside", { className: "left" }), el("div", { className: "stage" })];
  const middle = el("main", {}, canvas);
  box.append(panel, middle);
  const stage = new Stage(canvas);
  // The wheel scrolls the page, and zooms only with Ctrl.
  stage.controls.enableZoom = false;
  canvas.addEventListener("wheel", (event) => (stage.controls.enableZoom = event.ctrlKey), { capture: true });
  const viewer = new Viewer(source, stage, scene);
  stage.frame(scene.assets);
  for (const info of scene.assets) await viewer.add(info);
  canvas.append(labels(viewer));
  middle.append(heatbar(viewer));
  const look = lookPanel(viewer);
  look.append(button("Frame", "Frame the shown views", () => viewer.frameShown()));
  panel.append(viewList(viewer), measuresPanel(viewer), clipPanel(viewer), heatPanel(viewer), look);
  box.append(timeline(viewer));
  // The original and each fit with all of its corrections.
  const shown = viewer.models.map((model) => viewer.views.findLastIndex((view) => view.model === model));
  viewer.state.compared = new Set(shown.flatMap((at) => viewer.views[at]?.id ?? []));
  Object.assign(viewer.state, { split: true, active: bestFit(viewer, data), heat: "error" });
  viewer.frameMotion();
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

/** Last view of the fit with the smallest distortion. */
function bestFit(viewer: Viewer, { facts }: ReportData): number {
  const errors = facts.fits.map((fit) => fit.measures.distortion_percent);
  const model = viewer.models[errors.indexOf(Math.min(...errors)) + 1];
  return viewer.views.findLastIndex((view) => view.model === model);
}

function show(): void {
  const data = JSON.parse(document.getElementById("data")!.textContent!) as ReportData;
  const { facts } = data;
  document.head.append(el("style", { textContent: pageStyle + controlStyle + reportStyle }));
  const box = el("div", { className: "viewer" });
  const words = `${facts.sequence}: ${facts.points.toLocaleString("en")} points, ${facts.triangles.toLocaleString("en")} triangles, ${facts.frames} frames at ${facts.fps} per second. Lengths in ${facts.unit}. dermis ${facts.version}.`;
  const thinned = facts.frame_step > 1 ? ` Every ${facts.frame_step}th frame is shown.` : "";
  document.getElementById("report")!.replaceChildren(
    el("h1", { textContent: facts.title }),
    el("p", { className: "hint", textContent: words }),
    el("h2", { textContent: "Summary" }),
    summary(facts),
    el("h2", { textContent: "View" }),
    box,
    el("p", {
      className: "hint",
      textContent: `Drag to rotate, right drag to pan, Ctrl + wheel to zoom.${thinned}`,
    }),
    el("h2", { textContent: "Errors" }),
    curves(facts),
    el("h2", { textContent: "Weights" }),
    weights(facts),
  );
  // Collapsed tables are printed completely.
  window.addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details")) part.open = true;
  });
  view(data, box).catch((error: Error) =>
    box.replaceChildren(el("p", { className: "failure", textContent: error.message })),
  );
}

show();
