// Entry point of the page of `dermis view`: connects the components and runs the render loop.

import "./font.css";
import "./style.css";
import "./ui/controls.css";
import { Connection } from "./connection";
import { restore } from "./export";
import type { Model } from "./gpu/model";
import { stats } from "./gpu/uploads";
import { ServerSource } from "./source";
import { Stage } from "./stage";
import { Brush } from "./tools/brush";
import { acceptDrops } from "./tools/drop";
import { Edits } from "./tools/edits";
import { FleshTool } from "./tools/flesh";
import { Live } from "./tools/live";
import { listenToMouse } from "./tools/mouse";
import { bonePanel } from "./ui/bonepanel";
import { cameraPanel } from "./ui/camerapanel";
import { el } from "./ui/dom";
import { exportPanel } from "./ui/exportpanel";
import { fleshPanel } from "./ui/fleshpanel";
import { gizmo } from "./ui/gizmo";
import { widthHandle } from "./ui/group";
import { header, invitation } from "./ui/header";
import { heatbar } from "./ui/heatbar";
import { boneNames } from "./ui/hover";
import { type Key, keys } from "./ui/keys";
import { labels } from "./ui/labels";
import { Messages } from "./ui/messages";
import { objectList } from "./ui/objectlist";
import { clipPanel, heatPanel, lookPanel, measuresPanel, notesPanel, viewList } from "./ui/panels";
import { PointPanel } from "./ui/pointpanel";
import { setEnd, timeline } from "./ui/timeline";
import { toolbar } from "./ui/toolbar";
import { CrowdPanel } from "./ui/crowdpanel";
import { brushPanel, livePanel } from "./ui/toolpanels";
import { type View, Viewer } from "./viewer";

async function start(app: HTMLElement): Promise<void> {
  const source = new ServerSource();
  const canvasBox = el("div", { className: "stage" });
  const [left, right] = [el("aside", { className: "left" }), el("aside", { className: "right" })];
  const messages = new Messages();
  const middle = el("main", {}, canvasBox);
  app.append(left, middle, right, widthHandle(app, "left"), widthHandle(app, "right"));
  // The GPU is initialized while the server responds.
  const request = source.scene();
  const stage = new Stage(canvasBox);
  // A click on the canvas moves the focus to it, so that shortcuts are not keys of the last control.
  Object.assign(stage.canvas, { tabIndex: 0, role: "img", ariaLabel: "3D view" });
  const scene = await request;
  const viewer = new Viewer(source, stage, scene);
  stage.frame(scene.assets.slice(0, 1));
  const say = (text: string, isError = false): void => messages.say(text, isError);
  viewer.say = say;

  const edits = new Edits(viewer);
  const brush = new Brush(viewer, edits);
  const crowd = new CrowdPanel(viewer);
  const lives: Live[] = [];
  const flesh = new FleshTool(viewer, lives, edits);
  const point = new PointPanel(viewer);
  const add = async (asset: number, opens = false): Promise<void> => {
    const info = scene.assets[asset];
    if (!info) return;
    await viewer.add(info);
    // Before simulations and layers start, which show their own view when they are connected.
    if (opens) chooseFirstView(viewer);
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
    if (model) await edits.restore(model);
  };

  canvasBox.append(
    labels(viewer),
    gizmo(stage, (preset) => stage.look(preset)),
    invitation(viewer),
    messages.element,
  );
  boneNames(viewer, canvasBox);
  middle.append(heatbar(viewer));
  app.append(timeline(viewer), keys(keyList(viewer, edits, crowd, flesh)));

  viewer.removed = (views) => {
    for (const live of lives.filter(({ view }) => view && views.includes(view))) {
      live.stop();
      lives.splice(lives.indexOf(live), 1);
    }
    if (crowd.crowd && views.includes(crowd.crowd.leader)) void crowd.show(false);
  };
  const loop = new Loop(viewer, crowd, lives);
  for (const info of scene.assets) {
    await add(info.id, true);
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
  const look = lookPanel(viewer);
  const heat = heatPanel(viewer);
  left.append(
    header(viewer, scene),
    viewList(viewer),
    objectList(viewer),
    clipPanel(viewer),
    look,
    heat,
    cameraPanel(viewer, () => crowd.frame()),
    crowd.element,
    exportPanel(viewer),
    notesPanel(viewer),
    help,
  );
  const touch = brushPanel(viewer, brush, source);
  const fleshBox = fleshPanel(viewer, flesh, brush);
  canvasBox.append(toolbar(viewer, brush, flesh, { brush: touch, flesh: fleshBox }));
  right.append(
    fleshBox,
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
  await Promise.all(viewer.surfaces);
  const connection = connect(viewer, source, lives, messages);
  Object.assign(window, { dermis: { stats, viewer, brush, crowd, flesh, lives, edits, connection } });
  if (scene.assets.length === 0) say("No files yet: drop a file here");
  const isLinked = restore(viewer, location.href);
  window.addEventListener("hashchange", () => restore(viewer, location.href));
  viewer.changed();
  const first = viewer.active;
  await viewer.measure();
  // A view that was chosen in the meantime, or that a link restores, stays.
  if (!isLinked && viewer.active === first) showBestFit(viewer);
}

/** Watches the server: without it the clock stops, and when it is back, live views connect again. */
function connect(viewer: Viewer, source: ServerSource, lives: Live[], messages: Messages): Connection {
  const known = viewer.scene.assets.map(({ label, points }) => `${label} ${points}`).join();
  const back = async (restarted: boolean): Promise<void> => {
    viewer.online = true;
    messages.state("server", "");
    const scene = restarted ? await viewer.attempt(source.scene()) : null;
    if (scene) viewer.revision = scene.revision;
    if (scene && scene.assets.map(({ label, points }) => `${label} ${points}`).join() !== known) {
      messages.state("server", "The server has been restarted with other files: reload this page");
      return;
    }
    for (const live of lives) live.reconnect();
    messages.say("The server is back");
    viewer.changed();
  };
  const connection = new Connection(viewer.scene.session, {
    lost: () => {
      viewer.online = false;
      viewer.play(false);
      messages.state("server", "The server has stopped: the page shows what it has loaded and waits for the server");
    },
    back: (restarted) => void back(restarted),
    pages: (count) => {
      const text = `${count} pages of this server are open: edits are not shared, and a save replaces the file`;
      messages.state("pages", count > 1 ? text : "");
    },
  });
  viewer.disconnected = () => void connection.check();
  viewer.latestRevision = () => connection.check().then(() => connection.revision);
  connection.start();
  return connection;
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

/** Shows the fit with the smallest distortion, unless another view has been chosen. */
function showBestFit(viewer: Viewer): void {
  const { active } = viewer;
  if (!active?.tag.startsWith("fit")) return;
  const error = (view: View): number =>
    viewer.measured(view.model, viewer.rankOf(view))?.distortion_percent ?? Number.POSITIVE_INFINITY;
  const fits = viewer.views.filter((view) => view.tag.startsWith("fit"));
  // Measures arrive one by one; the active view is compared once its own is known.
  if (!Number.isFinite(error(active))) return;
  const best = fits.reduce((a, b) => (error(b) < error(a) ? b : a), active);
  if (best !== active) viewer.activate(viewer.views.indexOf(best));
}

class Loop {
  private running = false;
  private drewLast = false;
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
    this.crowd.tick(drawn);
    // Pictures in sequence show how long one takes.
    if (drawn && this.drewLast && !this.crowd.crowd) this.viewer.stage.timed(seconds);
    this.drewLast = drawn;
    requestAnimationFrame(this.step);
  };
}

function keyList(viewer: Viewer, edits: Edits, crowd: CrowdPanel, flesh: FleshTool): Key[] {
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
    { key: "k", text: "onion skin", act: () => look("onion") },
    { key: "i", text: "playback starts here", act: () => setEnd(viewer, "first") },
    { key: "o", text: "playback ends here", act: () => setEnd(viewer, "last") },
    { key: "[", text: "rank down", act: () => viewer.setRank(Math.max(0, state.rank - 1)) },
    {
      key: "]",
      text: "rank up",
      act: () => viewer.setRank(Math.min(Math.max(0, ...viewer.models.map((m) => m.info.rank)), state.rank + 1)),
    },
    { key: "c", text: "crowd", act: () => void crowd.show(crowd.crowd === null) },
    { key: "r", text: "restart the simulation", act: () => flesh.liveOf(viewer.active)?.send({ reset: true }) },
    { key: "ctrl+z", shown: "Ctrl Z", text: "undo an edit", act: () => edits.history.undo() },
    { key: "ctrl+shift+z", shown: "Ctrl Shift Z", text: "redo an edit", act: () => edits.history.redo() },
    { key: "ctrl+y", shown: "Ctrl Y", text: "redo an edit", act: () => edits.history.redo() },
  ];
}

const app = document.getElementById("app")!;
start(app).catch((error: Error) => {
  app.replaceChildren(el("p", { className: "failure", textContent: error.message }));
  console.error(error);
});
