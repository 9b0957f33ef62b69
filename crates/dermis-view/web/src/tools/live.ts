// Live deformer of the server: requests frames, receives positions, and provides controls for its parameters.

import { Bundle } from "../bundle";
import { Figure } from "../gpu/figure";
import { Model } from "../gpu/model";
import { padded, Store } from "../gpu/store";
import { ClipStatistics } from "../heat/statistics";
import { choice, slider } from "../ui/dom";
import type { Stream, Tag, View, Viewer } from "../viewer";
import { LitSurface } from "./lit_surface";

/** Live deformers with the tags of their views. */
export const LAYERS = {
  layers: "with layers",
  pose: "on the server",
  volume: "volume preserved",
  wrinkle: "wrinkled",
  tissue: "simulated",
  balls: "with balls",
  light: "lit",
} as const satisfies Record<string, Tag>;

export type Kind = keyof typeof LAYERS | "recorded";

interface Parameter {
  name: string;
  label: string;
  low: number;
  high: number;
  step: number;
  value: number;
  choices: string[];
  logarithmic: boolean;
}

interface Scalar {
  label: string;
  unit: string;
  signed: boolean;
  range: [number, number] | null;
}

interface Greeting {
  points: number;
  frames: number;
  surface: boolean;
  /** True if it advances by itself, also while paused. */
  continuous: boolean;
  parameters: Parameter[];
  scalar: Scalar | null;
}

type Message =
  | Greeting
  | { status: string; scalar: Scalar | null }
  | { error: string; conflict?: boolean }
  | { written: string[]; revision: number }
  | { download: number };

/** Brush dab on the flesh. */
export interface Dab {
  point: number;
  radius: number;
  value: number;
}

/** Delay of a new connection after the server has closed one, in milliseconds. */
const RECONNECT_MS = 1000;

export class Live implements Stream {
  readonly controls: HTMLElement[] = [];
  /** Status of the deformer. */
  status = "";
  view: View | null = null;
  /** Number of greetings received, each with new controls. */
  greetings = 0;
  /** Painted strokes, repeated after a reconnection. */
  painted: Dab[][] = [];
  /** Number of frames that arrived when the timeline showed another one. */
  dropped = 0;
  /** Frame that is shown, or −1. */
  shown = -1;
  private scalars: Store | null = null;
  private readonly statistics = new ClipStatistics();
  private lit: LitSurface | null = null;
  /** Values of parameters that the user has set. */
  private readonly settings = new Map<string, number>();
  private awaited = false;
  private arrived: { frame: number; bundle: Bundle } | null = null;
  private stale = true;
  private failed = false;
  private awaitsFile = false;
  private stored: (result: string[] | Blob | null) => void = () => {};
  private greeting: Greeting | null = null;
  private awaitsSurface = false;
  private clip = -1;
  private socket: WebSocket;

  private constructor(
    private readonly viewer: Viewer,
    readonly of: Model,
    readonly kind: Kind,
    private readonly created: () => void,
  ) {
    this.socket = this.connect();
    viewer.streams.push(this);
  }

  private connect(): WebSocket {
    this.clip = this.of.clip;
    [this.greeting, this.awaited, this.arrived, this.stale] = [null, false, null, true];
    this.statistics.clear();
    const path = `api/assets/${this.of.info.id}/live/${this.kind}?clip=${Math.max(this.clip, 0)}`;
    const socket = new WebSocket(new URL(path, window.location.href.replace(/^http/, "ws")));
    socket.binaryType = "arraybuffer";
    socket.onclose = () => {
      if (socket !== this.socket) return;
      const greeted = this.greeting !== null;
      [this.greeting, this.awaited, this.arrived] = [null, false, null];
      this.stored(null);
      this.viewer.disconnected();
      // A deformer that fails to start is not started again.
      if (greeted) setTimeout(() => socket === this.socket && this.viewer.online && this.reconnect(), RECONNECT_MS);
    };
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (socket !== this.socket) return;
      if (typeof data === "string") this.listen(JSON.parse(data) as Message);
      else if (this.awaitsFile) this.takeFile(data);
      else if (this.awaitsSurface) this.takeSurface(new Bundle(data));
      else this.receive(new Bundle(data));
    };
    return socket;
  }

  /** Streams a motion that is too large for textures into a view. */
  static feed(viewer: Viewer, view: View, kind: "pose" | "recorded"): Live {
    const live = new Live(viewer, view.model, kind, () => viewer.changed());
    live.view = view;
    return live;
  }

  /** Adds a view of a model that the server deforms. */
  static add(viewer: Viewer, of: Model, kind: keyof typeof LAYERS, ready: () => void): Live {
    return new Live(viewer, of, kind, ready);
  }

  /** Connects again, unless there is a connection. The settings and the painted strokes are repeated. */
  reconnect(): void {
    const { CONNECTING, OPEN } = WebSocket;
    if ([CONNECTING, OPEN].includes(this.socket.readyState as 0 | 1)) return;
    this.socket = this.connect();
  }

  /** Requests the next frame of the timeline once the previous one has arrived. */
  tick(): void {
    if (this.clip !== this.of.clip) this.follow();
    const { view, greeting, viewer } = this;
    if (!view || !greeting || this.awaited || !viewer.needs(view)) return;
    const time = this.timeAt(viewer.nextTime);
    const frame = Math.floor(time);
    // A frame that has arrived is shown or dropped first.
    if (this.arrived) return;
    const wanted = greeting.continuous || frame !== this.shown || this.stale;
    if (!wanted || !this.send({ frame: greeting.continuous ? time : frame })) return;
    this.awaited = true;
    this.stale = false;
  }

  ready(moment: number): boolean {
    const { view, greeting, viewer } = this;
    if (!view || this.failed || !viewer.needs(view)) return true;
    const frame = Math.floor(this.timeAt(moment));
    if (this.arrived) return this.arrived.frame === frame;
    return this.shown === frame && greeting?.continuous !== true;
  }

  /** Shows the frame that has arrived if the timeline shows it or will show it next; drops it otherwise. */
  commit(): void {
    const { view, arrived, viewer } = this;
    if (!view || !arrived) return;
    if (arrived.frame === Math.floor(this.timeAt(viewer.state.frame))) {
      this.arrived = null;
      this.take(arrived.bundle);
    } else if (arrived.frame !== Math.floor(this.timeAt(viewer.nextTime))) {
      this.arrived = null;
      this.dropped++;
    }
  }

  /** Time of the deformer in frames at a time of the timeline. */
  private timeAt(time: number): number {
    const last = (this.greeting?.frames ?? 1) - 1;
    return Math.min(this.viewer.timeIn(this.view!, time), Math.max(last, 0));
  }

  /** Discards the painted changes and paints all strokes again. */
  repaint(): void {
    this.send({ restore: true });
    for (const dab of this.painted.flat()) this.send({ paint: dab });
    this.stale = true;
  }

  /** Ends the connection of a view that has been removed. */
  stop(): void {
    const { streams } = this.viewer;
    if (streams.includes(this)) streams.splice(streams.indexOf(this), 1);
    this.view = null;
    this.socket.onclose = this.socket.onmessage = null;
    this.socket.close();
  }

  /** Sends a message. Returns false if the connection is not open. */
  send(message: object): boolean {
    if (!this.greeting || this.socket.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  /** Saves the current state. Returns the files written, the file itself, or `null` after an error. */
  save(): Promise<string[] | Blob | null> {
    return new Promise((stored) => {
      this.stored = stored;
      if (!this.send({ save: true, revision: this.viewer.revision })) {
        this.viewer.say("The flesh cannot be saved: the server does not answer", true);
        stored(null);
      }
    });
  }

  /** Sets a control and triggers its event. */
  set(name: string, value: number): void {
    const input = this.controls
      .find((control) => control.dataset["parameter"] === name)
      ?.querySelector("input, select");
    if (!(input instanceof HTMLInputElement || input instanceof HTMLSelectElement)) return;
    input.value = String(value);
    input.dispatchEvent(new Event(input instanceof HTMLInputElement ? "input" : "change"));
  }

  /** Switches to another clip: continuous deformers keep their state, others reconnect. */
  private follow(): void {
    if (this.greeting?.continuous) {
      this.clip = this.of.clip;
      this.greeting.frames = this.of.info.clips[this.clip]?.frames ?? 1;
      this.send({ set: "clip", value: this.clip });
      return;
    }
    const before = this.socket;
    this.socket = this.connect();
    before.close();
  }

  private listen(message: Message): void {
    if ("error" in message) {
      this.viewer.say(message.error, true);
      if (message.conflict) void this.viewer.latestRevision().then((revision) => (this.viewer.revision = revision));
      // Frames that cannot be computed do not stop the clock.
      else [this.failed, this.awaited] = [true, false];
      this.stored(null);
    } else if ("status" in message) {
      this.status = message.status;
      if (this.greeting) this.greeting.scalar = message.scalar;
    } else if ("written" in message) {
      this.viewer.revision = message.revision;
      this.stored(message.written);
    }
    else if ("download" in message) this.awaitsFile = true;
    else this.greet(message);
  }

  private takeFile(data: ArrayBuffer): void {
    this.awaitsFile = false;
    this.stored(new Blob([data]));
  }

  private greet(greeting: Greeting): void {
    this.greeting = greeting;
    this.greetings++;
    this.failed = false;
    this.awaitsSurface = greeting.surface;
    this.controls.length = 0;
    for (const parameter of greeting.parameters) {
      const set = (value: number): void => {
        this.settings.set(parameter.name, value);
        this.send({ set: parameter.name, value });
        this.statistics.clear();
        this.stale = true;
      };
      // A new connection continues with the settings of the last one.
      const value = this.settings.get(parameter.name) ?? parameter.value;
      if (value !== parameter.value) this.send({ set: parameter.name, value });
      const control = controlOf({ ...parameter, value }, set);
      control.dataset["parameter"] = parameter.name;
      this.controls.push(control);
    }
    if (this.painted.length > 0) this.repaint();
    if (this.view) this.viewer.changed();
    else if (!greeting.surface) this.show(this.of);
  }

  private takeSurface(bundle: Bundle): void {
    this.awaitsSurface = false;
    if (!this.view) this.show(Model.ofSurface(this.of, bundle, this.greeting!.frames));
  }

  /** Creates the view. */
  private show(model: Model): void {
    const tag = LAYERS[this.kind as keyof typeof LAYERS];
    const { info } = this.of;
    const label = this.viewer.scene.assets.length > 1 ? `${info.label} · ${tag}` : tag;
    this.view = { id: `${info.id}:${tag}`, label, tag, model, figure: new Figure(model, "live") };
    this.viewer.views.push(this.view);
    this.viewer.state.compared.add(this.view.id);
    this.created();
  }

  private receive(bundle: Bundle): void {
    this.awaited = false;
    this.failed = false;
    this.arrived = { frame: bundle.indices("frame")[0] ?? 0, bundle };
  }

  private take(bundle: Bundle): void {
    const { renderer } = this.viewer.stage;
    const { figure } = this.view!;
    this.shown = bundle.indices("frame")[0] ?? 0;
    figure.poser.receive(renderer, bundle.floats("positions"));
    figure.showSegments(bundle.floats("segments"));
    const scalars = bundle.floats("scalars");
    if (scalars.length > 0 && this.greeting?.scalar) this.takeScalars(scalars, this.greeting.scalar);
    else if (this.viewer.liveScalars.delete(this.view!.id) && this.viewer.state.heat === "live") {
      this.viewer.state.heat = "none";
    }
    this.viewer.changed();
  }

  private takeScalars(values: Float32Array, { label, unit, signed, range }: Scalar): void {
    const { id, model } = this.view!;
    const known = this.viewer.liveScalars.get(id);
    const store = (this.scalars ??= new Store(values.length, 1));
    store.write(this.viewer.stage.renderer, 0, padded(values, 1, 1, model.pointRows));
    if (known?.label !== label) {
      // A newly selected scalar is shown in its own range.
      this.statistics.clear();
      if (this.kind === "tissue") this.viewer.state.heat = "live";
    }
    this.statistics.set(this.shown, values);
    if (this.kind === "light") (this.lit ??= new LitSurface(this.view!, store)).show();
    this.viewer.liveScalars.set(id, { store, statistics: this.statistics, range, signed, label, unit });
  }
}

function controlOf(parameter: Parameter, set: (value: number) => void): HTMLElement {
  const { label, choices, value, low, high, step, logarithmic } = parameter;
  const shown = (value: number): string => String(Number(value.toPrecision(3)));
  if (choices.length > 0) return choice(label, choices, value, set);
  if (!logarithmic) return slider(label, parameter, set, shown).element;
  const range = { low: Math.log10(low), high: Math.log10(high), step, value: Math.log10(value) };
  return slider(
    label,
    range,
    (power) => set(10 ** power),
    (power) => shown(10 ** power),
  ).element;
}
