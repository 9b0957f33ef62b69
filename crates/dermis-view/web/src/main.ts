// The page of `dermis view`: puts the parts together and keeps the picture going.

import "./style.css";
import { stats } from "./gpu/uploads";
import { ServerSource } from "./source";
import { cells, Stage } from "./stage";
import { Brush } from "./tools/brush";
import { acceptDrops } from "./tools/drop";
import { Live } from "./tools/live";
import { hitTest } from "./tools/pick";
import { el } from "./ui/dom";
import { heatbar } from "./ui/heatbar";
import { type Key, keys } from "./ui/keys";
import { clipPanel, heatPanel, lookPanel, measuresPanel, onlyWhenChanged, viewList } from "./ui/panels";
import { PointPanel } from "./ui/pointpanel";
import { timeline } from "./ui/timeline";
import { brushPanel, CrowdPanel, livePanel } from "./ui/toolpanels";
import { Viewer } from "./viewer";

/** A press that moves less than this many pixels is a click. */
const CLICK_DISTANCE = 4;

async function start(app: HTMLElement): Promise<void> {
  const source = new ServerSource();
  const canvasBox = el("div", { className: "stage" });
  const [left, right] = [el("aside", { className: "left" }), el("aside", { className: "right" })];
  const messages = el("div", { className: "messages" });
  const labels = el("div", { className: "labels" });
  app.append(left, canvasBox, right);
  // The GPU gets ready while the server answers.
  const asked = source.scene();
  const stage = new Stage(canvasBox);
  const scene = await asked;
  const viewer = new Viewer(source, stage, scene);
  stage.frame(scene.assets);
  const say = (text: string): void => {
    messages.textContent = text;
    clearTimeout(Number(messages.dataset["timer"]));
    messages.dataset["timer"] = String(setTimeout(() => (messages.textContent = ""), 6000));
  };

  const brush = new Brush(viewer);
  const crowd = new CrowdPanel(viewer, say);
  const lives: Live[] = [];
  const point = new PointPanel(viewer);
  const add = async (asset: number): Promise<void> => {
    const info = scene.assets[asset];
    if (!info) return;
    await viewer.add(info);
    // What has no room in the GPU's textures comes from the server, frame by frame.
    for (const view of viewer.views.filter((v) => v.model.info.id === asset && v.figure.poser.kind === "live")) {
      lives.push(Live.feed(viewer, view, view.tag === "original" ? "recorded" : "pose", () => viewer.changed()));
    }
  };

  canvasBox.append(labels, heatbar(viewer), messages);
  onlyWhenChanged(
    viewer,
    () => JSON.stringify(viewer.columns.map((v) => [v.id, viewer.rankOf(v)])),
    () => {
      const name = (view: (typeof viewer.views)[number]): string =>
        view.tag === "fit + corrections" ? `${view.label}, rank ${viewer.rankOf(view)}` : view.label;
      labels.style.gridTemplateColumns = `repeat(${cells(viewer.columns.length).columns}, 1fr)`;
      labels.replaceChildren(...viewer.columns.map((view) => el("span", { textContent: name(view) })));
    },
  );
  app.append(timeline(viewer), keys(keyList(viewer, brush, crowd)));

  const loop = new Loop(viewer, crowd, lives);
  for (const info of scene.assets) {
    await add(info.id);
    loop.run();
  }
  const help = el(
    "p",
    { className: "hint" },
    "Press ",
    el("kbd", { textContent: "?" }),
    " for the keys. Drop files to add them.",
  );
  left.append(
    el("h1", {}, "dermis ", el("small", { textContent: scene.version })),
    viewList(viewer),
    clipPanel(viewer),
    lookPanel(viewer),
    heatPanel(viewer),
    crowd.element,
    help,
  );
  right.append(measuresPanel(viewer), point.element, brushPanel(viewer, brush, source, say), livePanel(viewer, lives));
  chooseFirstView(viewer);
  listenToMouse(viewer, brush, crowd, point);
  acceptDrops(
    scene,
    source,
    async (asset) => {
      scene.assets = (await source.scene()).assets;
      for (const model of viewer.models) Object.assign(model.info, scene.assets[model.info.id]);
      await add(asset);
      stage.frame(scene.assets);
      await viewer.measure();
    },
    say,
  );
  Object.assign(window, { dermis: { stats, viewer, brush, crowd } });
  if (scene.assets.length === 0) say("Nothing to show yet: drop a file here");
  const notes = scene.assets.flatMap((asset) => asset.notes);
  if (notes.length > 0) say(notes.slice(0, 3).join(" · "));
  viewer.changed();
  await viewer.measure();
}

/** The best fit comes first into view, the original stands ready beside it. */
function chooseFirstView(viewer: Viewer): void {
  const best = viewer.views.findIndex((view) => view.tag === "fit + corrections");
  const fit = viewer.views.findIndex((view) => view.tag === "fit");
  viewer.state.active = Math.max(best >= 0 ? best : fit, 0);
}

class Loop {
  private running = false;
  private last = performance.now();

  constructor(
    private readonly viewer: Viewer,
    private readonly crowd: CrowdPanel,
    private readonly lives: Live[],
  ) {}

  run(): void {
    if (this.running) return;
    this.running = true;
    requestAnimationFrame(this.step);
  }

  private readonly step = (now: number): void => {
    const seconds = Math.min((now - this.last) / 1000, 0.25);
    this.last = now;
    for (const live of this.lives) live.tick();
    const drawn = this.viewer.tick(seconds, this.crowd.crowd === null);
    if (drawn && this.crowd.crowd) this.crowd.draw();
    requestAnimationFrame(this.step);
  };
}

function listenToMouse(viewer: Viewer, brush: Brush, crowd: CrowdPanel, panel: PointPanel): void {
  const { canvas, controls } = viewer.stage;
  let from: { x: number; y: number } | null = null;
  let painting = false;
  const dab = (event: PointerEvent): boolean => {
    const at = viewer.stage.ray(event, viewer.columns.length);
    const view = viewer.columns[at.view];
    if (!view || (brush.mode !== "paint" && view.tag === "original")) return false;
    if (!painting) brush.begin(view.model);
    return brush.dab(view, at.ray, event.altKey);
  };
  canvas.addEventListener(
    "pointerdown",
    (event) => {
      from = { x: event.clientX, y: event.clientY };
      if (brush.mode === "off" || event.button !== 0 || crowd.crowd) return;
      painting = dab(event);
      controls.enabled = !painting;
      if (painting) canvas.setPointerCapture(event.pointerId);
    },
    { capture: true },
  );
  canvas.addEventListener("pointermove", (event) => {
    if (painting) dab(event);
  });
  canvas.addEventListener("pointerup", (event) => {
    controls.enabled = true;
    const stroke = painting;
    painting = false;
    const still = from && Math.hypot(event.clientX - from.x, event.clientY - from.y) < CLICK_DISTANCE;
    if (stroke || !still || event.button !== 0 || crowd.crowd) return;
    const at = viewer.stage.ray(event, viewer.columns.length);
    const view = viewer.columns[at.view];
    const hit = view && hitTest(view.model, viewer.positions(view), at.ray);
    if (view && hit) panel.select(view, hit.point);
  });
}

function keyList(viewer: Viewer, brush: Brush, crowd: CrowdPanel): Key[] {
  const { state } = viewer;
  const step = (by: number): void => {
    viewer.play(false);
    viewer.setFrame(state.frame + by);
  };
  const look = (name: keyof typeof state.look): void => {
    state.look[name] = !state.look[name];
    viewer.changed();
  };
  const split = (on: boolean): void => {
    state.split = on;
    viewer.changed();
  };
  return [
    { key: " ", shown: "Space", text: "play, pause", act: () => viewer.play(!state.playing) },
    { key: "ArrowRight", shown: "→", text: "one frame on", act: () => step(1) },
    { key: "ArrowLeft", shown: "←", text: "one frame back", act: () => step(-1) },
    { key: "Home", text: "first frame", act: () => viewer.setFrame(0) },
    { key: "End", text: "last frame", act: () => viewer.setFrame(viewer.frameCount - 1) },
    {
      key: "l",
      text: "loop",
      act: () => {
        state.loop = !state.loop;
        viewer.changed();
      },
    },
    {
      key: "f",
      text: "frame all",
      act: () =>
        viewer.stage.frame(
          viewer.models.map((m) => m.info),
          crowd.crowd?.reach ?? 1,
        ),
    },
    { key: "1", text: "one view", act: () => split(false) },
    { key: "2", text: "side by side", act: () => split(true) },
    { key: "x", text: "A/B flip", act: () => viewer.flip() },
    {
      key: "h",
      text: "error heat map",
      act: () => {
        state.heat = state.heat === "error" ? "none" : "error";
        viewer.changed();
      },
    },
    { key: "w", text: "wireframe", act: () => look("wireframe") },
    { key: "n", text: "normals", act: () => look("normals") },
    { key: "b", text: "bones", act: () => look("bones") },
    { key: "g", text: "facets", act: () => look("flat") },
    { key: "[", text: "rank down", act: () => viewer.setRank(Math.max(0, state.rank - 1)) },
    {
      key: "]",
      text: "rank up",
      act: () => viewer.setRank(Math.min(Math.max(0, ...viewer.models.map((m) => m.info.rank)), state.rank + 1)),
    },
    { key: "c", text: "crowd", act: () => void crowd.show(crowd.crowd === null) },
    { key: "ctrl+z", shown: "Ctrl Z", text: "undo a stroke", act: () => brush.undo() },
  ];
}

const app = document.getElementById("app")!;
start(app).catch((error: Error) => {
  app.replaceChildren(el("p", { className: "failure", textContent: error.message }));
  console.error(error);
});
