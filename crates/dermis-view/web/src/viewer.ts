// What is shown: the assets as views (original, fit, fit with corrections, …), the frame, the rank and the heat map.

import { Figure, type Heat, type Look } from "./gpu/figure";
import { Model } from "./gpu/model";
import type { Kind, Poser } from "./gpu/poser";
import { Store } from "./gpu/store";
import { stats } from "./gpu/uploads";
import type { AssetInfo, RankMeasures, SceneInfo, Source } from "./source";
import { Stage } from "./stage";

export type Tag = "original" | "fit" | "fit + corrections" | "rest pose" | "on the server" | "animation";

export interface View {
  id: string;
  label: string;
  tag: Tag;
  model: Model;
  figure: Figure;
}

/** `attribute:NAME` shows a scalar of the file. */
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
  bone: number;
  /** Upper end of the error's colour bar; `null` takes the largest error at rank 0. */
  errorRange: number | null;
  look: Look;
  /** The point that was clicked. */
  marked: { model: Model; point: number } | null;
}

/** Views side by side, at most. */
const MOST_COLUMNS = 4;

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
    errorRange: null,
    look: { wireframe: false, normals: false, bones: false, flat: false },
    marked: null,
  };
  /** Scalars that are painted or streamed, by view. */
  readonly paints = new Map<Model, Float32Array<ArrayBuffer>>();
  liveScalar: { store: Store; low: number; high: number; signed: boolean; label: string; unit: string } | null = null;
  private readonly listeners: Listener[] = [];
  private readonly stores = new Map<string, Store>();
  private clock = 0;

  constructor(
    readonly source: Source,
    readonly stage: Stage,
    readonly scene: SceneInfo,
  ) {}

  listen(listener: Listener): void {
    this.listeners.push(listener);
  }

  /** Draws again and tells everybody who shows the state. */
  changed(): void {
    this.stage.invalidate();
    for (const listener of this.listeners) listener();
  }

  /** Loads one asset and adds its views. */
  async add(info: AssetInfo): Promise<void> {
    const model = await Model.load(this.source, info, this.stage.maxRows);
    this.models.push(model);
    const several = this.scene.assets.length > 1;
    const add = (kind: Kind, tag: Tag): void => {
      const label = several ? `${info.label} · ${tag}` : tag;
      this.views.push({ id: `${info.id}:${tag}`, label, tag, model, figure: new Figure(model, kind) });
    };
    if (info.recorded) add(model.recordedFits ? "recorded" : "live", "original");
    // The bones of a fit hang from nothing; a rig's shapes are its own, not corrections of anything.
    const loose = info.bones.length > 0 && info.bones.every((bone) => bone.parent === null);
    const fitted = info.reference !== null || loose;
    if (info.clips.length > 0) add(model.skinFits ? "skin" : "live", fitted && model.skinFits ? "fit" : "animation");
    if (info.clips.length > 0 && fitted && info.rank > 0 && model.skinFits) add("skin", "fit + corrections");
    if (!info.recorded && info.clips.length === 0) add("rest", "rest pose");
    this.state.rank = Math.max(this.state.rank, info.rank);
    for (const view of this.views) this.state.compared.add(view.id);
    if (info.recorded && model.recordedFits) {
      void model.loadRecorded(this.stage.renderer, () => this.changed()).catch((error: Error) => console.error(error));
    }
    const motion = info.recorded ?? info.clips[0];
    if (this.views.length > 0 && this.models.length === 1 && motion) this.state.fps = motion.fps;
    this.changed();
  }

  get active(): View | null {
    return this.views[this.state.active] ?? null;
  }

  get columns(): View[] {
    if (!this.state.split) return this.active ? [this.active] : [];
    const compared = this.views.filter((view) => this.state.compared.has(view.id)).slice(0, MOST_COLUMNS);
    return compared.length > 0 ? compared : this.views.slice(0, 1);
  }

  get frameCount(): number {
    return Math.max(1, ...this.views.map((view) => framesOf(view)));
  }

  /** Whether the rank moves a view. */
  rankOf(view: View): number {
    if (view.tag === "fit") return 0;
    return Math.min(this.state.rank, view.model.info.rank);
  }

  setFrame(frame: number): void {
    const count = this.frameCount;
    this.state.frame = ((Math.round(frame) % count) + count) % count;
    this.changed();
  }

  play(playing: boolean): void {
    this.state.playing = playing;
    this.clock = this.state.frame;
    this.changed();
  }

  setRank(rank: number): void {
    this.state.rank = rank;
    this.changed();
    void this.measure();
  }

  show(view: number): void {
    this.state.active = view;
    this.changed();
    void this.measure();
  }

  /** A/B: the next view that is ticked. */
  flip(): void {
    const ticked = this.views.flatMap((view, at) => (this.state.compared.has(view.id) ? [at] : []));
    const others = ticked.length > 1 ? ticked : this.views.map((_, at) => at);
    this.show(others[(others.indexOf(this.state.active) + 1) % others.length] ?? 0);
  }

  measured(model: Model, rank: number): RankMeasures | null | undefined {
    return this.measures.get(`${model.info.id} ${Math.min(rank, model.info.rank)}`);
  }

  /** Fetches the measures of every fit at rank 0 and at the ranks shown. */
  async measure(): Promise<void> {
    const asked = this.models.filter((model) => model.info.reference !== null);
    const wanted = asked.flatMap((model) =>
      [0, this.state.rank].map((rank) => ({ model, rank: Math.min(rank, model.info.rank) })),
    );
    for (const { model, rank } of wanted) {
      const key = `${model.info.id} ${rank}`;
      if (this.measures.has(key)) continue;
      const measures = await this.source.measures(model.info.id, rank);
      this.measures.set(key, measures);
      this.changed();
    }
  }

  /** The view whose recorded frames a model is compared with. */
  referenceOf(model: Model): View | null {
    return this.views.find((v) => v.tag === "original" && v.model.info.id === model.info.reference) ?? null;
  }

  /** The largest error that the colour bar shows. */
  errorHigh(): number {
    if (this.state.errorRange !== null) return this.state.errorRange;
    const known = this.models.map((model) => this.measured(model, 0)?.max_error ?? 0);
    const largest = Math.max(0, ...known);
    return largest > 0 ? largest : 0.01 * (this.models[0]?.info.diagonal ?? 1);
  }

  /** The heat map of one view. */
  heatOf(view: View): Heat {
    const { heat, bone } = this.state;
    if (heat === "error") return { kind: "error", low: 0, high: this.errorHigh() };
    if (heat === "bones" || heat === "core") return view.model.slots > 0 ? { kind: heat } : { kind: "none" };
    if (heat === "weight" && view.model.slots > 0 && bone < view.model.info.bones.length) {
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
    if (heat === "live" && this.liveScalar && view.tag === "on the server") {
      const { store, low, high, signed } = this.liveScalar;
      return { kind: "scalar", low, high, ramp: signed ? "signed" : "heat", store };
    }
    if (heat.startsWith("attribute:")) return this.attributeHeat(view, heat.slice("attribute:".length));
    return { kind: "none" };
  }

  /** The store of a scalar, made when first shown; `forget` has it made anew. */
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

  /** Moves time on and draws, where there is something new to see. */
  tick(seconds: number, draws = true): boolean {
    if (this.state.playing) {
      this.clock += seconds * this.state.fps;
      const count = this.frameCount;
      if (!this.state.loop && this.clock >= count) {
        this.state.playing = false;
        this.clock = count - 1;
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

  /** The positions of a view in the current frame, four floats per point. */
  positions(view: View): Float32Array<ArrayBuffer> {
    this.pose(view);
    return view.figure.poser.read(this.stage.renderer);
  }

  private prepare(view: View): void {
    const heat = this.heatOf(view);
    let reference: Poser | null = null;
    if (heat.kind === "error") {
      const original = this.referenceOf(view.model);
      if (original) {
        this.pose(original);
        reference = original.figure.poser;
      }
    }
    const frame = this.frameOf(view);
    const { marked } = this.state;
    view.figure.mark(marked?.model === view.model ? marked.point : null);
    view.figure.prepare(this.stage.renderer, frame, this.rankOf(view), heat, this.state.look, reference);
  }

  private pose(view: View): void {
    view.figure.poser.pose(this.stage.renderer, this.frameOf(view), this.rankOf(view));
  }

  frameOf(view: View): number {
    return Math.min(this.state.frame, Math.max(framesOf(view) - 1, 0));
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

export function framesOf(view: View): number {
  return view.model.motion(view.tag === "original")?.frames ?? 1;
}
