// Live deformer of the server: requests frames, receives positions, and provides controls for its parameters.

import { Bundle } from "../bundle";
import { Figure } from "../gpu/figure";
import { Model } from "../gpu/model";
import { padded, Store } from "../gpu/store";
import { choice, slider } from "../ui/dom";
import type { Tag, View, Viewer } from "../viewer";

/** Live deformers with the tags of their views. */
export const LAYERS = {
  layers: "with layers",
  pose: "on the server",
  volume: "volume preserved",
  wrinkle: "wrinkled",
  tissue: "simulated",
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
  | { error: string }
  | { written: string[] }
  | { download: number };

/** Decay per frame of the colour range of continuous deformers, and its minimum relative to the diagonal. */
const [RANGE_DECAY, MIN_RANGE] = [0.985, 0.005];

export class Live {
  readonly controls: HTMLElement[] = [];
  /** Status of the deformer. */
  status = "";
  view: View | null = null;
  /** Number of greetings received, each with new controls. */
  greetings = 0;
  private scalars: Store | null = null;
  private requested = -1;
  private received = -1;
  private stale = true;
  private awaitsFile = false;
  private stored: (result: string[] | Blob | null) => void = () => {};
  private greeting: Greeting | null = null;
  private awaitsSurface = false;
  private clip = -1;
  private socket: WebSocket;

  private constructor(
    private readonly viewer: Viewer,
    private readonly of: Model,
    readonly kind: Kind,
    private readonly ready: () => void,
  ) {
    this.socket = this.connect();
  }

  private connect(): WebSocket {
    this.clip = this.of.clip;
    const path = `api/assets/${this.of.info.id}/live/${this.kind}?clip=${Math.max(this.clip, 0)}`;
    const socket = new WebSocket(new URL(path, window.location.href.replace(/^http/, "ws")));
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (socket !== this.socket) return;
      if (typeof data === "string") this.listen(JSON.parse(data) as Message);
      else if (this.awaitsFile) this.takeFile(data);
      else if (this.awaitsSurface) this.takeSurface(new Bundle(data));
      else this.take(new Bundle(data));
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

  /** Requests the current frame once the previous one has arrived. */
  tick(): void {
    if (this.clip !== this.of.clip) this.follow();
    const { view, greeting, viewer } = this;
    if (!view || !greeting || this.requested >= 0) return;
    const { continuous } = greeting;
    const last = greeting.frames - 1;
    const frame = Math.min(continuous ? viewer.momentOf(view) : viewer.frameOf(view), last);
    const wanted = continuous ? viewer.columns.includes(view) : frame !== this.received || this.stale;
    if (!wanted || !this.send({ frame })) return;
    this.requested = frame;
    this.stale = false;
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
      if (!this.send({ save: true })) stored(null);
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
    this.socket.close();
    [this.greeting, this.requested, this.stale] = [null, -1, true];
    this.socket = this.connect();
  }

  private listen(message: Message): void {
    if ("error" in message) {
      this.viewer.say(message.error);
      this.stored(null);
    } else if ("status" in message) {
      this.status = message.status;
      if (this.greeting) this.greeting.scalar = message.scalar;
    } else if ("written" in message) this.stored(message.written);
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
    this.awaitsSurface = greeting.surface;
    this.controls.length = 0;
    for (const parameter of greeting.parameters) {
      const set = (value: number): void => {
        this.send({ set: parameter.name, value });
        this.stale = true;
      };
      const control = controlOf(parameter, set);
      control.dataset["parameter"] = parameter.name;
      this.controls.push(control);
    }
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
    this.ready();
  }

  private take(bundle: Bundle): void {
    const { renderer } = this.viewer.stage;
    const { figure } = this.view!;
    this.received = bundle.indices("frame")[0] ?? 0;
    this.requested = -1;
    figure.poser.receive(renderer, bundle.floats("positions"));
    figure.showSegments(bundle.floats("segments"));
    const scalars = bundle.floats("scalars");
    if (scalars.length > 0 && this.greeting?.scalar) this.takeScalars(scalars);
    else if (this.viewer.liveScalars.delete(this.view!.id) && this.viewer.state.heat === "live") {
      this.viewer.state.heat = "none";
    }
    this.viewer.changed();
  }

  private takeScalars(values: Float32Array): void {
    const { label, unit, signed, range } = this.greeting!.scalar!;
    const { id, model } = this.view!;
    const known = this.viewer.liveScalars.get(id);
    const store = (this.scalars ??= new Store(values.length, 1));
    store.write(this.viewer.stage.renderer, 0, padded(values, 1, 1, model.pointRows));
    const { continuous } = this.greeting!;
    // A newly selected scalar is shown in its own range.
    const chosen = known?.label !== label;
    if (chosen && continuous) this.viewer.state.heat = "live";
    const before = chosen ? 0 : known.high;
    const high = continuous
      ? Math.max(RANGE_DECAY * before, largest(values), MIN_RANGE * model.info.diagonal)
      : Math.max(before, common(values)) || 1;
    const [from, to] = range ?? [signed ? -high : 0, high];
    this.viewer.liveScalars.set(id, { store, low: from, high: to, signed, label, unit });
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

function largest(values: Float32Array): number {
  return values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}

/** 98th percentile of the absolute values, so that single outliers do not determine the colour range. */
function common(values: Float32Array): number {
  const step = Math.max(1, Math.floor(values.length / 4096));
  const sizes = Float32Array.from({ length: Math.floor(values.length / step) }, (_, i) =>
    Math.abs(values[i * step]!),
  ).sort();
  return sizes[Math.floor(0.98 * sizes.length)] ?? 0;
}
