// State of the viewer: the views of the assets (original, fit, fit with corrections, …), frame, rank and heat map.

import type { Ray, Vector3 } from "three";
import { boneUnder } from "./gpu/bones";
import { Figure, type Heat, type Look } from "./gpu/figure";
import { Model } from "./gpu/model";
import type { Kind, Poser } from "./gpu/poser";
import { Store } from "./gpu/store";
import { stats } from "./gpu/uploads";
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
  | "simulated";

/** Value per point streamed by the server. */
export interface LiveScalar {
  store: Store;
  low: number;
  high: number;
  signed: boolean;
  label: string;
  unit: string;
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
  /** Upper end of the colour bar of the error; `null`: the largest error of the compared views. */
  errorRange: number | null;
  look: Look;
  /** The clicked point. */
  marked: { model: Model; point: number } | null;
}

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
    errorRange: null,
    look: { wireframe: false, normals: false, bones: false, flat: false },
    marked: null,
  };
  /** Painted scalars. */
  readonly paints = new Map<Model, Float32Array<ArrayBuffer>>();
  /** Streamed scalars by the id of the view. */
  readonly liveScalars = new Map<string, LiveScalar>();
  private readonly listeners: Listener[] = [];
  private readonly stores = new Map<string, Store>();
  private clock = 0;
  /** Shows a message to the user. */
  say: (text: string) => void = () => {};

  constructor(
    readonly source: Source,
    readonly stage: Stage,
    readonly scene: SceneInfo,
  ) {}

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
    const add = (kind: Kind, tag: Tag): void => {
      const id = `${info.id}:${tag}`;
      this.views.push({ id, label: tag, tag, model, figure: new Figure(model, kind) });
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

  get active(): View | null {
    return this.views[this.state.active] ?? null;
  }

  /** Ticked views. */
  get ticked(): View[] {
    return this.views.filter((view) => this.state.compared.has(view.id));
  }

  /** Shown views. */
  get columns(): View[] {
    if (!this.state.split) return this.active ? [this.active] : [];
    const { ticked } = this;
    return ticked.length > 0 ? ticked.slice(0, MAX_COLUMNS) : this.views.slice(0, 1);
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
    this.clock = this.state.frame;
    this.changed();
  }

  play(playing: boolean): void {
    const { state, frameCount } = this;
    state.playing = playing && frameCount > 1;
    if (state.playing && !state.loop && state.frame === frameCount - 1) state.frame = 0;
    this.clock = state.frame;
    this.changed();
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
    const wanted = compared.flatMap((model) => [0, this.state.rank].map((rank) => ({ model, rank })));
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
      this.say((error as Error).message);
      return null;
    }
  }

  /** View whose recorded frames a view is compared with. */
  referenceOf(view: View): View | null {
    const { reference } = view.model;
    if (reference === null || view.tag === "original") return null;
    return this.views.find((v) => v.tag === "original" && v.model.info.id === reference) ?? null;
  }

  /** Upper end of the colour bar of the error. */
  errorHigh(): number {
    return this.state.errorRange ?? (this.largestError() || 0.01 * (this.models[0]?.info.diagonal ?? 1));
  }

  /** Largest error of the shown and ticked views, so that colours are comparable between them. */
  largestError(): number {
    const errors = [...this.columns, ...this.ticked].flatMap((view) =>
      [0, this.rankOf(view)].map((rank) => this.measured(view.model, rank)?.max_error ?? 0),
    );
    return Math.max(0, ...errors);
  }

  /** True if errors can exceed the colour bar: its end was entered by the user, or a rest pose was edited. */
  get errorClips(): boolean {
    const edited = this.columns.some((view) => view.model.strokes.rest > 0);
    return this.state.heat === "error" && (edited || this.largestError() > this.errorHigh());
  }

  /** Heat map of one view. */
  heatOf(view: View): Heat {
    const { heat } = this.state;
    const bone = this.boneIn(view.model);
    if (heat === "error")
      return this.referenceOf(view) ? { kind: "error", low: 0, high: this.errorHigh() } : { kind: "none" };
    if (heat === "bones" || heat === "core") return view.model.slots > 0 ? { kind: heat } : { kind: "none" };
    if (heat === "weight" && view.model.slots > 0 && bone >= 0) {
      const store = this.scalarStore(view.model, `bone ${bone}`, () => view.model.boneWeights(bone));
      return { kind: "scalar", low: 0, high: 1, ramp: "heat", store };
    }
    if (heat === "paint") {
      const values = this.paints.get(view.model);
      if (!values) return { kind: "none" };
      return {
        kind: "scalar",
        low: 0,
        high: 1,
        ramp: "heat",
        store: this.scalarStore(view.model, "paint", () => values),
      };
    }
    const live = this.liveScalars.get(view.id);
    if (heat === "live" && live) {
      const { store, low, high, signed } = live;
      return { kind: "scalar", low, high, ramp: signed ? "signed" : "heat", store };
    }
    if (heat.startsWith("attribute:")) return this.attributeHeat(view, heat.slice("attribute:".length));
    return { kind: "none" };
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
    if (this.state.playing) {
      this.clock += seconds * this.state.fps;
      const count = this.frameCount;
      if (!this.state.loop && this.clock >= count) {
        this.state.playing = false;
        this.clock = count - 1;
        this.changed();
      }
      const frame = Math.floor(this.clock) % count;
      if (frame !== this.state.frame) {
        this.state.frame = frame;
        this.changed();
      }
    } else {
      this.clock = this.state.frame;
    }
    if (!this.stage.takeWanted()) return false;
    if (draws) this.draw();
    return true;
  }

  draw(): void {
    const columns = this.columns;
    for (const view of columns) this.prepare(view);
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
    view.figure.prepare(this.stage.renderer, frame, this.rankOf(view), heat, this.state.look, reference);
  }

  private pose(view: View): void {
    view.figure.poser.pose(this.stage.renderer, this.frameOf(view), this.rankOf(view));
  }

  /** Frame of a view: a shorter motion repeats, or stops at its end without looping. */
  frameOf(view: View): number {
    const count = Math.max(framesOf(view), 1);
    return this.state.loop ? this.state.frame % count : Math.min(this.state.frame, count - 1);
  }

  /** Time of a view in frames; fractional during playback. */
  momentOf(view: View): number {
    return this.frameOf(view) + (this.state.playing ? this.clock % 1 : 0);
  }

  private attributeHeat(view: View, name: string): Heat {
    const values = view.model.attributes.get(name);
    if (!values) return { kind: "none" };
    let [low, high] = [Infinity, -Infinity];
    for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
    if (low >= high) [low, high] = [low, low + 1];
    const signed = low < 0 && high > 0;
    if (signed) [low, high] = [-Math.max(-low, high), Math.max(-low, high)];
    const store = this.scalarStore(view.model, `attribute ${name}`, () => values);
    return { kind: "scalar", low, high, ramp: signed ? "signed" : "heat", store };
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
