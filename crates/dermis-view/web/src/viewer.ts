// State of the viewer: the views of the assets (original, fit, fit with corrections, …), frame, rank and heat map.

import { type Ray, Vector3 } from "three";
import { boneUnder } from "./gpu/bones";
import { Figure, type Heat, type Look } from "./gpu/figure";
import { centerOf, Model } from "./gpu/model";
import type { Kind, Poser } from "./gpu/poser";
import { Store } from "./gpu/store";
import type { SurfaceName } from "./gpu/surface";
import { stats } from "./gpu/uploads";
import { defaultScale, type Extent, type Range, rangeOf, rangeOfValues, type Scale } from "./heat/scale";
import type { ClipStatistics } from "./heat/statistics";
import type { AssetInfo, RankMeasures, SceneInfo, Source } from "./source";
import { Stage } from "./stage";

export type Tag =
  | "original"
  | "fit"
  | "fit + corrections"
  | "rest pose"
  | "animation"
  | "with layers"
  | "on the server"
  | "volume preserved"
  | "wrinkled"
  | "simulated"
  | "with balls"
  | "lit";

/** Value per point streamed by the server. */
export interface LiveScalar {
  store: Store;
  /** Sizes of the values of all frames received so far. */
  statistics: ClipStatistics;
  /** Range given by the server; `null`: that of the values. */
  range: [number, number] | null;
  signed: boolean;
  label: string;
  unit: string;
}

/** View that the server streams. Playback waits for its frames, so that it shows the frame of the timeline. */
export interface Stream {
  /** Returns true if the frame at a time of the timeline can be shown now. */
  ready(moment: number): boolean;
  /** Shows the frame of the current time, if it has arrived. */
  commit(): void;
}

export interface View {
  id: string;
  label: string;
  tag: Tag;
  model: Model;
  figure: Figure;
}

/** Heat maps; `attribute:NAME` shows a scalar of the file. */
export type HeatName = "none" | "error" | "weight" | "bones" | "core" | "paint" | "live" | `attribute:${string}`;

export interface State {
  frame: number;
  playing: boolean;
  loop: boolean;
  fps: number;
  split: boolean;
  active: number;
  compared: Set<string>;
  rank: number;
  heat: HeatName;
  /** Bone whose weight is shown, and its model; `null` is the active one. */
  bone: number;
  boneModel: Model | null;
  /** Range and colours of heat maps. */
  scale: Scale;
  look: Look;
  /** Drawing of surfaces without a heat map. */
  surface: SurfaceName;
  /** Frames between the ghosts of the onion skin. */
  spacing: number;
  /** Factor of the speed of playback. */
  speed: number;
  /** First and last frame of playback; `null`: all frames. */
  range: { first: number; last: number } | null;
  /** True if the camera follows the active view. */
  follow: boolean;
  /** Assets that are not shown. */
  hidden: Set<number>;
  /** Bone under the mouse. */
  hovered: { model: Model; bone: number } | null;
  /** The clicked point. */
  marked: { model: Model; point: number } | null;
}

/** Maximum time by which a frame advances the clock, in seconds. */
const MAX_PASSED_S = 0.25;
/** Minimum range of streamed values, relative to the diagonal. */
const MIN_RANGE = 1e-4;
/** Maximum number of views side by side. */
const MAX_COLUMNS = 6;

type Listener = () => void;

export class Viewer {
  readonly views: View[] = [];
  readonly models: Model[] = [];
  readonly measures = new Map<string, RankMeasures | null>();
  readonly state: State = {
    frame: 0,
    playing: false,
    loop: true,
    fps: 24,
    split: false,
    active: 0,
    compared: new Set(),
    rank: 0,
    heat: "none",
    bone: 0,
    boneModel: null,
    scale: defaultScale(),
    look: { wireframe: false, normals: false, bones: false, flat: false, onion: false },
    surface: "material",
    spacing: 4,
    speed: 1,
    range: null,
    follow: false,
    hidden: new Set(),
    hovered: null,
    marked: null,
  };
  /** Painted scalars. */
  readonly paints = new Map<Model, Float32Array<ArrayBuffer>>();
  /** Streamed scalars by the id of the view. */
  readonly liveScalars = new Map<string, LiveScalar>();
  /** Requests of materials and parts. */
  readonly surfaces: Promise<void>[] = [];
  private readonly listeners: Listener[] = [];
  private readonly stores = new Map<string, Store>();
  private clock = 0;
  /** Time of the next frame during playback, until all shown streams have it. */
  private goal: number | null = null;
  /** Time that has passed since the last frame, in seconds. */
  private passed = 0;
  readonly streams: Stream[] = [];
  /** Views that are drawn in other ways than as columns, such as by a crowd. */
  readonly pinned = new Set<View>();
  /** True while the server answers. */
  online = true;
  /** Number of saves by all pages that this page knows of. */
  revision: number;
  /** Number of saves by all pages. */
  latestRevision: () => Promise<number> = () => Promise.resolve(this.revision);
  /** Called when a connection to the server has ended. */
  disconnected: () => void = () => {};
  /** Shows a message to the user. */
  say: (text: string, isError?: boolean) => void = () => {};

  constructor(
    readonly source: Source,
    readonly stage: Stage,
    readonly scene: SceneInfo,
  ) {
    this.revision = scene.revision;
  }

  listen(listener: Listener): void {
    this.listeners.push(listener);
  }

  /** Requests drawing and notifies all listeners. */
  changed(): void {
    this.stage.invalidate();
    for (const listener of this.listeners) listener();
  }

  /** Loads one asset and adds its views. */
  async add(info: AssetInfo): Promise<void> {
    const model = await Model.load(this.source, info, this.stage.maxRows);
    this.models.push(model);
    this.surfaces.push(this.loadSurface(model));
    const add = (kind: Kind, tag: Tag): void => {
      const id = `${info.id}:${tag}`;
      const figure = new Figure(model, kind);
      figure.arrived = () => this.stage.invalidate();
      this.views.push({ id, label: tag, tag, model, figure });
      this.state.compared.add(id);
    };
    if (info.recorded) add(model.recordedFits ? "recorded" : "live", "original");
    // The bones of a fit have no parents. The shapes of other rigs are not corrections.
    const loose = info.bones.length > 0 && info.bones.every((bone) => bone.parent === null || bone.is_end);
    const fitted = model.reference !== null || loose;
    if (info.clips.length > 0) add(model.skinFits ? "skin" : "live", fitted && model.skinFits ? "fit" : "animation");
    if (info.clips.length > 0 && fitted && info.rank > 0 && model.skinFits) add("skin", "fit + corrections");
    if (!info.recorded && info.clips.length === 0) add("rest", "rest pose");
    this.state.rank = Math.max(this.state.rank, info.rank);
    // Labels include the file name if there are several files.
    if (this.models.length > 1) for (const view of this.views) view.label = `${view.model.info.label} · ${view.tag}`;
    if (info.recorded && model.recordedFits) {
      void model.loadRecorded(this.stage.renderer, () => this.changed()).catch((error: Error) => console.error(error));
    }
    const motion = info.recorded ?? info.clips[Math.max(model.clip, 0)];
    if (this.views.length > 0 && this.models.length === 1 && motion) this.state.fps = motion.fps;
    this.changed();
  }

  /** Loads materials and parts after the shape is shown. */
  private async loadSurface(model: Model): Promise<void> {
    const data = await this.attempt(this.source.surface(model.info.id));
    if (!data) return;
    model.surface.take(data);
    this.changed();
  }

  /** Called with the views of an asset that is removed. */
  removed: (views: View[]) => void = () => {};

  /** Removes an asset with all of its views from the page. */
  remove(asset: number): void {
    const shown = this.active;
    const views = this.views.filter((view) => view.model.info.id === asset);
    this.removed(views);
    for (const view of views) {
      this.views.splice(this.views.indexOf(view), 1);
      this.state.compared.delete(view.id);
      this.liveScalars.delete(view.id);
      view.figure.dispose();
    }
    const { state } = this;
    const gone = this.models.filter((model) => model.info.id === asset);
    this.models.splice(0, this.models.length, ...this.models.filter((model) => model.info.id !== asset));
    if (gone.includes(state.boneModel!)) state.boneModel = null;
    if (state.marked && state.marked.model.info.id === asset) state.marked = null;
    state.hovered = null;
    state.hidden.delete(asset);
    state.active = Math.max(0, shown ? this.views.indexOf(shown) : 0);
    if (state.frame >= this.frameCount) this.setFrame(0);
    this.changed();
  }

  /** Shows or hides an asset; a hidden active view is replaced by a shown one. */
  setHidden(asset: number, hidden: boolean): void {
    const { state } = this;
    if (hidden) state.hidden.add(asset);
    else state.hidden.delete(asset);
    if (this.active && state.hidden.has(this.active.model.info.id)) {
      const next = this.views.findIndex((view) => !state.hidden.has(view.model.info.id));
      if (next >= 0) state.active = next;
    }
    this.changed();
  }

  /** Hides all assets but one; if only that one is shown, shows all. */
  isolate(asset: number): void {
    const { state } = this;
    const ids = new Set(this.views.map((view) => view.model.info.id));
    const alone = [...ids].every((id) => state.hidden.has(id) === (id !== asset));
    state.hidden.clear();
    if (!alone) for (const id of ids) if (id !== asset) state.hidden.add(id);
    const first = this.views.findLastIndex((view) => view.model.info.id === asset);
    if (!alone && this.active?.model.info.id !== asset && first >= 0) state.active = first;
    this.changed();
  }

  get active(): View | null {
    return this.views[this.state.active] ?? null;
  }

  /** Ticked views. */
  get ticked(): View[] {
    return this.views.filter((view) => this.state.compared.has(view.id));
  }

  /** Shown views. */
  get columns(): View[] {
    const isShown = (view: View): boolean => !this.state.hidden.has(view.model.info.id);
    if (!this.state.split) return this.active && isShown(this.active) ? [this.active] : [];
    const ticked = this.ticked.filter(isShown);
    return ticked.length > 0 ? ticked.slice(0, MAX_COLUMNS) : this.views.filter(isShown).slice(0, 1);
  }

  get frameCount(): number {
    return Math.max(1, ...this.views.map((view) => framesOf(view)));
  }

  /** Rank at which a view is drawn. */
  rankOf(view: View): number {
    if (view.tag === "fit") return 0;
    return Math.min(this.state.rank, view.model.info.rank);
  }

  setFrame(frame: number): void {
    const count = this.frameCount;
    this.state.frame = ((Math.round(frame) % count) + count) % count;
    this.rewind();
    this.changed();
  }

  /** Starts the clock at the current frame. */
  private rewind(): void {
    this.clock = this.state.frame;
    this.goal = null;
    this.passed = 0;
  }

  play(playing: boolean): void {
    const { state, frameCount } = this;
    state.playing = playing && frameCount > 1;
    const { first, last } = this.span;
    const outside = state.frame < first || state.frame > last;
    if (state.playing && (outside || (!state.loop && state.frame === last))) state.frame = first;
    this.rewind();
    this.changed();
  }

  /** First and last frame of playback. */
  get span(): { first: number; last: number } {
    const end = this.frameCount - 1;
    const { range } = this.state;
    return range ? { first: Math.min(range.first, end), last: Math.min(range.last, end) } : { first: 0, last: end };
  }

  /** Limits playback to frames; the whole motion removes the limit. */
  setRange(first: number, last: number): void {
    const end = this.frameCount - 1;
    const [low, high] = [Math.max(0, Math.min(first, last)), Math.min(end, Math.max(first, last))];
    this.state.range = low === 0 && high === end ? null : { first: low, last: high };
    this.changed();
  }

  /** Centre of a view in the current frame, from data that need no transfer from the GPU; `null` if unknown. */
  centerOf(view: View): Vector3 | null {
    const { model, figure } = view;
    const frame = this.frameOf(view);
    if (figure.poser.kind === "recorded") return model.recordedCenters[frame] ?? null;
    if (figure.poser.kind === "live") return figure.poser.liveCenter;
    return figure.poser.kind === "skin" ? model.boneCenter(frame) : centerOf(model.rest, 3);
  }

  private followed: { view: View; center: Vector3 } | null = null;

  /** Moves the camera with the active view. */
  private followActive(): void {
    const { active } = this;
    const center = active && this.state.follow ? this.centerOf(active) : null;
    if (!active || !center) {
      this.followed = null;
      return;
    }
    if (this.followed?.view === active) this.stage.move(center.clone().sub(this.followed.center));
    this.followed = { view: active, center: center.clone() };
  }

  setRank(rank: number): void {
    this.state.rank = rank;
    this.changed();
    void this.measure();
  }

  /** Shows one view alone. */
  show(view: number): void {
    this.state.split = false;
    this.activate(view);
  }

  /** Makes a view the active one, which the panels describe. */
  activate(view: number): void {
    this.state.active = view;
    this.changed();
    void this.measure();
  }

  /** A/B comparison: shows the next ticked view. */
  flip(): void {
    const ticked = this.ticked.map((view) => this.views.indexOf(view));
    const others = ticked.length > 1 ? ticked : this.views.map((_, at) => at);
    this.show(others[(others.indexOf(this.state.active) + 1) % others.length] ?? 0);
  }

  /** Frames the shown views in their current pose. */
  frameShown(): void {
    this.stage.frame(this.columns.map((view) => ({ ...bounds(this.positions(view)), up: view.model.info.up })));
  }

  /** Frames the shown views over their whole motion. */
  frameMotion(): void {
    this.stage.frame(this.columns.map((view) => view.model.info));
  }

  measured(model: Model, rank: number): RankMeasures | null | undefined {
    return this.measures.get(measureKey(model, rank));
  }

  /** Fetches the measures of every fit at rank 0 and at the current rank. */
  async measure(): Promise<void> {
    const compared = this.models.filter((model) => model.reference !== null);
    // Several fits are compared at the highest rank that all of them have.
    const common = Math.min(this.state.rank, ...compared.map((model) => model.info.rank));
    const wanted = compared.flatMap((model) => [0, common, this.state.rank].map((rank) => ({ model, rank })));
    for (const { model, rank } of wanted) {
      const key = measureKey(model, rank);
      if (this.measures.has(key)) continue;
      const clamped = Math.min(rank, model.info.rank);
      this.measures.set(key, await this.attempt(this.source.measures(model.info.id, Math.max(model.clip, 0), clamped)));
      this.changed();
    }
  }

  /** Result of a request, or `null` after an error message. */
  async attempt<T>(request: Promise<T>): Promise<T | null> {
    try {
      return await request;
    } catch (error) {
      this.say((error as Error).message, true);
      return null;
    }
  }

  /** View whose recorded frames a view is compared with. */
  referenceOf(view: View): View | null {
    const { reference } = view.model;
    if (reference === null || view.tag === "original") return null;
    return this.views.find((v) => v.tag === "original" && v.model.info.id === reference) ?? null;
  }

  /** Range of the colours of the error: that of the shown and ticked views, so that they are comparable. */
  errorRange(): Range {
    const extents = [...this.columns, ...this.ticked].flatMap((view) =>
      [0, this.rankOf(view)].map((rank): Extent => {
        const measures = this.measured(view.model, rank);
        return { most: measures?.error_98th_percentile ?? 0, all: measures?.max_error ?? 0 };
      }),
    );
    const [most, all] = [Math.max(0, ...extents.map((e) => e.most)), Math.max(0, ...extents.map((e) => e.all))];
    const range = rangeOf(this.state.scale, { most, all }, false, 0.01 * (this.models[0]?.info.diagonal ?? 1));
    const edited = this.columns.some((view) => view.model.strokes.rest > 0);
    return { ...range, clips: range.clips || edited };
  }

  /** Range of the colours of a view; `null` if its heat map has none. */
  rangeIn(view: View): Range | null {
    const { heat, scale } = this.state;
    if (heat === "error") return this.referenceOf(view) ? this.errorRange() : null;
    if (heat === "weight" || heat === "paint") {
      const fixed = scale.range === "fixed" ? scale : { ...scale, range: "all" as const };
      return rangeOf(fixed, { most: 1, all: 1 }, false, 1);
    }
    if (heat === "live") {
      const live = this.liveScalars.get(view.id);
      if (!live) return null;
      const { statistics, signed, range } = live;
      if (!range || scale.range === "fixed") {
        // Rounding errors of a still frame are not shown as if they were values.
        const [least, { most, all }] = [MIN_RANGE * view.model.info.diagonal, statistics.extent];
        const range = rangeOf(scale, { most: Math.max(most, least), all: Math.max(all, least) }, signed, least);
        return { ...range, clips: all > range.high };
      }
      const all = rangeOf(scale, { most: range[1], all: range[1] }, signed, range[1]);
      return { ...all, low: range[0], high: range[1], clips: statistics.extent.all > range[1] };
    }
    const values = heat.startsWith("attribute:") && view.model.attributes.get(heat.slice("attribute:".length));
    return values ? this.attributeRange(values) : null;
  }

  /** Heat map of one view. */
  heatOf(view: View): Heat {
    const { heat } = this.state;
    const { model } = view;
    if (heat === "bones" || heat === "core") return model.slots > 0 ? { kind: heat } : { kind: "none" };
    const range = this.rangeIn(view);
    const store = heat === "error" ? null : this.heatStore(view, heat);
    if (!range || (heat !== "error" && !store)) return { kind: "none" };
    const { low, high, ramp } = range;
    return store ? { kind: "scalar", low, high, ramp, store } : { kind: "error", low, high, ramp };
  }

  /** Values of a heat map; `null` if the view has none. */
  private heatStore(view: View, heat: HeatName): Store | null {
    const { model } = view;
    const bone = this.boneIn(model);
    if (heat === "weight") {
      if (model.slots === 0 || bone < 0) return null;
      return this.scalarStore(model, `bone ${bone}`, () => model.boneWeights(bone));
    }
    if (heat === "paint") {
      const values = this.paints.get(model);
      return values ? this.scalarStore(model, "paint", () => values) : null;
    }
    if (heat === "live") return this.liveScalars.get(view.id)?.store ?? null;
    const name = heat.slice("attribute:".length);
    const values = heat.startsWith("attribute:") ? model.attributes.get(name) : undefined;
    return values ? this.scalarStore(model, `attribute ${name}`, () => values) : null;
  }

  private readonly ranges = new WeakMap<Float32Array, { key: string; range: Range }>();

  private attributeRange(values: Float32Array): Range {
    const key = JSON.stringify(this.state.scale);
    let known = this.ranges.get(values);
    if (known?.key !== key) this.ranges.set(values, (known = { key, range: rangeOfValues(this.state.scale, values) }));
    return known.range;
  }

  /** Shows the weights of a bone. */
  selectBone(model: Model, bone: number): void {
    Object.assign(this.state, { bone, boneModel: model, heat: "weight" });
    this.changed();
  }

  /** Bone that is drawn under the mouse; `null` if there is none or if bones are not drawn. */
  boneUnder(view: View, ray: Ray): number | null {
    if (!this.state.look.bones) return null;
    const { model } = view;
    const posed = model.clip >= 0 && view.figure.poser.kind !== "rest";
    const pose = (bone: number, point: Vector3): Vector3 =>
      posed ? model.poseWithBone(bone, this.frameOf(view), point) : point;
    return boneUnder(model.info.bones, model.info.diagonal, pose, ray);
  }

  /** Index of the bone under the mouse in `model`; in other models, the bone of the same name. */
  private hoveredIn(model: Model): number {
    const { hovered } = this.state;
    if (!hovered || hovered.model === model) return hovered?.bone ?? -1;
    const name = hovered.model.info.bones[hovered.bone]?.name;
    return name ? model.info.bones.findIndex((other) => other.name === name) : -1;
  }

  /** Index of the selected bone in `model`; in other models than that of the selection, the bone of the same name. */
  boneIn(model: Model): number {
    const { bone, boneModel } = this.state;
    const of = boneModel ?? this.active?.model;
    if (of === model) return bone < model.info.bones.length ? bone : -1;
    const name = of?.info.bones[bone]?.name;
    return name ? model.info.bones.findIndex((other) => other.name === name) : -1;
  }

  /** Store of a scalar, created on first use; `forget` creates it again. */
  scalarStore(model: Model, name: string, values: () => Float32Array, forget = false): Store {
    const key = `${model.info.id} ${name}`;
    if (forget) {
      this.stores.get(key)?.dispose();
      this.stores.delete(key);
    }
    let store = this.stores.get(key);
    if (!store) this.stores.set(key, (store = Store.packed(values(), 1, 1)));
    return store;
  }

  /** Advances time and draws if something has changed. */
  tick(seconds: number, draws = true): boolean {
    if (this.state.playing) this.advance(seconds);
    else this.rewind();
    for (const stream of this.streams) stream.commit();
    if (!this.stage.takeWanted()) return false;
    if (draws) this.draw();
    return true;
  }

  /** Moves to the next frame once all shown streams have it. */
  private advance(seconds: number): void {
    this.passed = Math.min(this.passed + seconds, MAX_PASSED_S);
    if (this.goal === null) {
      this.goal = this.clock + this.passed * this.state.fps * this.state.speed;
      this.passed = 0;
    }
    const ends = !this.state.loop && this.goal >= this.span.last + 1;
    const time = this.inSpan(this.goal);
    if (!this.streams.every((stream) => stream.ready(time))) return;
    this.clock = time;
    this.goal = null;
    if (ends) this.state.playing = false;
    const frame = Math.floor(time);
    if (frame === this.state.frame && !ends) return;
    this.state.frame = frame;
    this.changed();
  }

  /** Time of the timeline that is shown next. */
  get nextTime(): number {
    if (!this.state.playing) return this.state.frame;
    if (this.goal === null) return this.clock;
    return this.inSpan(this.goal);
  }

  /** Time within the range of playback, which repeats or ends at its last frame. */
  private inSpan(time: number): number {
    const { first, last } = this.span;
    const count = last - first + 1;
    if (!this.state.loop && time >= last + 1) return last;
    return first + ((((time - first) % count) + count) % count);
  }

  /** Returns true if a view is drawn, or compared with one that is drawn. */
  needs(view: View): boolean {
    const { columns } = this;
    if (columns.includes(view) || this.pinned.has(view)) return true;
    return this.state.heat === "error" && columns.some((column) => this.referenceOf(column) === view);
  }

  draw(): void {
    const columns = this.columns;
    this.followActive();
    for (const view of columns) {
      this.prepare(view);
      // Occlusion is refined after the first picture.
      if (stats.firstPictureMs !== null && view.model.occlusion.refine(this.stage.renderer)) this.stage.invalidate();
    }
    this.stage.draw(columns.map((view) => view.figure.group));
    if (stats.firstPictureMs === null && columns.length > 0) {
      this.stage.finish();
      stats.firstPictureMs = performance.now();
    }
  }

  /** Position of a point of a view in the current frame. */
  position(view: View, point: number): number[] {
    this.pose(view);
    return view.figure.poser.readPoint(this.stage.renderer, point);
  }

  /** Positions of a view in the current frame, four floats per point. */
  positions(view: View): Float32Array<ArrayBuffer> {
    this.pose(view);
    return view.figure.poser.read(this.stage.renderer).subarray(0, 4 * view.model.pointCount);
  }

  private prepare(view: View): void {
    const heat = this.heatOf(view);
    let reference: Poser | null = null;
    if (heat.kind === "error") {
      const original = this.referenceOf(view);
      if (original) {
        this.pose(original);
        reference = original.figure.poser;
      }
    }
    const frame = this.frameOf(view);
    const { marked } = this.state;
    view.figure.mark(marked?.model === view.model ? marked.point : null);
    view.figure.selectedBone = this.state.heat === "weight" ? this.boneIn(view.model) : -1;
    view.figure.hoveredBone = this.hoveredIn(view.model);
    const { surface, spacing, look } = this.state;
    const style = { surface, spacing, frames: framesOf(view), quality: this.stage.drawnQuality };
    view.figure.prepare(this.stage.renderer, frame, this.rankOf(view), heat, look, reference, style);
  }

  private pose(view: View): void {
    view.figure.poser.pose(this.stage.renderer, this.frameOf(view), this.rankOf(view));
  }

  /** Frame of a view: a shorter motion repeats, or stops at its end without looping. */
  frameOf(view: View): number {
    return Math.floor(this.timeIn(view, this.state.frame));
  }

  /** Time of a view in frames at a time of the timeline. */
  timeIn(view: View, time: number): number {
    const count = Math.max(framesOf(view), 1);
    const frame = Math.floor(time);
    return (this.state.loop ? frame % count : Math.min(frame, count - 1)) + (time - frame);
  }
}

/** Bounding box of positions of four floats each. */
function bounds(positions: Float32Array): Pick<AssetInfo, "low" | "high"> {
  const low: AssetInfo["low"] = [Infinity, Infinity, Infinity];
  const high: AssetInfo["high"] = [-Infinity, -Infinity, -Infinity];
  for (let at = 0; at < positions.length; at++) {
    const [c, value] = [at % 4, positions[at]!];
    if (c > 2 || !Number.isFinite(value)) continue;
    low[c] = Math.min(low[c]!, value);
    high[c] = Math.max(high[c]!, value);
  }
  return { low, high };
}

function measureKey(model: Model, rank: number): string {
  return `${model.info.id} ${model.clip} ${Math.min(rank, model.info.rank)}`;
}

export function framesOf(view: View): number {
  return view.model.motion(view.tag === "original")?.frames ?? 1;
}
