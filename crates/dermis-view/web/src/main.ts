// Entry point of the page of `dermis view`: connects the components and runs the render loop.

import "./style.css";
import type { Model } from "./gpu/model";
import { stats } from "./gpu/uploads";
import { ServerSource } from "./source";
import { Stage } from "./stage";
import { Brush } from "./tools/brush";
import { acceptDrops } from "./tools/drop";
import { FleshTool } from "./tools/flesh";
import { Live } from "./tools/live";
import { listenToMouse } from "./tools/mouse";
import { el } from "./ui/dom";
import { bonePanel } from "./ui/bonepanel";
import { fleshPanel } from "./ui/fleshpanel";
import { heatbar } from "./ui/heatbar";
import { type Key, keys } from "./ui/keys";
import { labels } from "./ui/labels";
import { clipPanel, heatPanel, lookPanel, measuresPanel, notesPanel, viewList } from "./ui/panels";
import { PointPanel } from "./ui/pointpanel";
import { timeline } from "./ui/timeline";
import { brushPanel, CrowdPanel, livePanel } from "./ui/toolpanels";
import { Viewer } from "./viewer";

async function start(app: HTMLElement): Promise<void> {
  const source = new ServerSource();
  const canvasBox = el("div", { className: "stage" });
  const [left, right] = [el("aside", { className: "left" }), el("aside", { className: "right" })];
  const messages = el("div", { className: "messages" });
  const middle = el("main", {}, canvasBox);
  app.append(left, middle, right);
  // The GPU is initialized while the server responds.
  const request = source.scene();
  const stage = new Stage(canvasBox);
  const scene = await request;
  const viewer = new Viewer(source, stage, scene);
  stage.frame(scene.assets.slice(0, 1));
  const say = (text: string): void => {
    messages.textContent = text;
    clearTimeout(Number(messages.dataset["timer"]));
    messages.dataset["timer"] = String(setTimeout(() => (messages.textContent = ""), 6000));
  };
  viewer.say = say;

  const brush = new Brush(viewer);
  const crowd = new CrowdPanel(viewer);
  const lives: Live[] = [];
  const flesh = new FleshTool(viewer, lives);
  const point = new PointPanel(viewer);
  const add = async (asset: number): Promise<void> => {
    const info = scene.assets[asset];
    if (!info) return;
    await viewer.add(info);
    // Motions that exceed the textures of the GPU are streamed from the server.
    for (const view of viewer.views.filter((v) => v.model.info.id === asset && v.figure.poser.kind === "live")) {
      lives.push(Live.feed(viewer, view, view.tag === "original" ? "recorded" : "pose"));
    }
    const model = viewer.models.find((m) => m.info.id === asset);
    if (model && info.layers.length > 0 && info.clips.length > 0) {
      const live = Live.add(viewer, model, "layers", () => viewer.show(viewer.views.indexOf(live.view!)));
      lives.push(live);
    }
    if (model && info.tissue) lives.push(simulate(viewer, model));
  };

  canvasBox.append(labels(viewer), messages);
  middle.append(heatbar(viewer));
  app.append(timeline(viewer), keys(keyList(viewer, brush, crowd, flesh)));

  const loop = new Loop(viewer, crowd, lives);
  for (const info of scene.assets) {
    await add(info.id);
    chooseFirstView(viewer);
    viewer.frameMotion();
    loop.run();
  }
  loop.run();
  const help = el(
    "p",
    { className: "hint" },
    "Press ",
    el("kbd", { textContent: "?" }),
    " for the list of keys. Drop files to add them.",
  );
  const look = lookPanel(viewer, () => crowd.frame());
  const heat = heatPanel(viewer);
  left.append(
    el("h1", {}, "dermis ", el("small", { textContent: scene.version })),
    viewList(viewer),
    clipPanel(viewer),
    look,
    heat,
    crowd.element,
    notesPanel(viewer),
    help,
  );
  const touch = brushPanel(viewer, brush, source);
  right.append(
    fleshPanel(viewer, flesh, brush),
    measuresPanel(viewer),
    bonePanel(viewer),
    point.element,
    touch,
    livePanel(viewer, lives),
  );
  crowd.ignored = [look.querySelector<HTMLElement>(".grid2")!, heat, touch];
  listenToMouse(viewer, brush, flesh, crowd, point);
  acceptDrops(
    scene,
    source,
    async (asset) => {
      scene.assets = (await source.scene()).assets;
      for (const model of viewer.models) Object.assign(model.info, scene.assets[model.info.id]);
      await add(asset);
      viewer.state.active = viewer.views.findLastIndex((view) => view.model.info.id === asset);
      viewer.frameMotion();
      viewer.changed();
      await viewer.measure();
    },
    say,
  );
  Object.assign(window, { dermis: { stats, viewer, brush, crowd, flesh } });
  if (scene.assets.length === 0) say("No files yet: drop a file here");
  viewer.changed();
  await viewer.measure();
}

/** Starts the simulation and playback of a layered body, coloured by the scalars of the simulation. */
function simulate(viewer: Viewer, model: Model): Live {
  const live = Live.add(viewer, model, "tissue", () => {
    viewer.show(viewer.views.indexOf(live.view!));
    viewer.play(true);
  });
  return live;
}

/** Selects the best fit as the first view. */
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

function keyList(viewer: Viewer, brush: Brush, crowd: CrowdPanel, flesh: FleshTool): Key[] {
  const { state } = viewer;
  const step = (by: number): void => {
    viewer.play(false);
    viewer.setFrame(state.frame + by);
  };
  /** Acts unless a crowd is shown, which has no overlays. */
  const plain = (act: () => void): void =>
    crowd.crowd ? viewer.say("A crowd is drawn without lines and colours: press C to hide it") : act();
  const look = (name: keyof typeof state.look): void =>
    plain(() => {
      state.look[name] = !state.look[name];
      viewer.changed();
    });
  const heat = (): void => {
    if (!viewer.models.some((model) => model.reference !== null)) {
      viewer.say("There is no recorded motion to compare with: drop a file with one");
      return;
    }
    state.heat = state.heat === "error" ? "none" : "error";
    viewer.changed();
  };
  const split = (on: boolean): void => {
    state.split = on;
    viewer.changed();
  };
  return [
    { key: " ", shown: "Space", text: "play, pause", act: () => viewer.play(!state.playing) },
    { key: "ArrowRight", shown: "→", text: "next frame", act: () => step(1) },
    { key: "ArrowLeft", shown: "←", text: "previous frame", act: () => step(-1) },
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
    { key: "f", text: "frame the shown views", act: () => crowd.frame() },
    { key: "1", text: "one view", act: () => split(false) },
    { key: "2", text: "side by side", act: () => split(true) },
    { key: "x", text: "A/B flip", act: () => viewer.flip() },
    { key: "h", text: "error heat map", act: () => plain(heat) },
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
    { key: "r", text: "restart the simulation", act: () => flesh.liveOf(viewer.active)?.send({ reset: true }) },
    { key: "ctrl+z", shown: "Ctrl Z", text: "undo a stroke", act: () => brush.undo() },
  ];
}

const app = document.getElementById("app")!;
start(app).catch((error: Error) => {
  app.replaceChildren(el("p", { className: "failure", textContent: error.message }));
  console.error(error);
});
