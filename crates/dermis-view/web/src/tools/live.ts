// A deformer that runs in the server: asks for the frame shown, takes its positions, and has its sliders.

import { Bundle } from "../bundle";
import { Figure } from "../gpu/figure";
import { Model } from "../gpu/model";
import { padded, Store } from "../gpu/store";
import { choice, slider } from "../ui/dom";
import type { Tag, View, Viewer } from "../viewer";

/** What runs in the server, and what a view of it is called. */
export const LAYERS = {
  layers: "with its layers",
  pose: "on the server",
  volume: "volume kept",
  wrinkle: "wrinkled",
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
}

interface Hello {
  points: number;
  frames: number;
  surface: boolean;
  parameters: Parameter[];
  scalar: { label: string; unit: string; signed: boolean } | null;
}

type Message = Hello | { status: string } | { error: string };

export class Live {
  readonly controls: HTMLElement[] = [];
  /** What the server says of the frame. */
  status = "";
  view: View | null = null;
  private asked = -1;
  private got = -1;
  private stale = true;
  private hello: Hello | null = null;
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
      else if (this.awaitsSurface) this.takeSurface(new Bundle(data));
      else this.take(new Bundle(data));
    };
    return socket;
  }

  /** Streams into a view that is fed by the server: what is too large for textures. */
  static feed(viewer: Viewer, view: View, kind: "pose" | "recorded"): Live {
    const live = new Live(viewer, view.model, kind, () => viewer.changed());
    live.view = view;
    return live;
  }

  /** Adds a view of a model that the server deforms. */
  static add(viewer: Viewer, of: Model, kind: keyof typeof LAYERS, ready: () => void): Live {
    return new Live(viewer, of, kind, ready);
  }

  /** Asks for the frame shown, once the last one has come. */
  tick(): void {
    if (this.clip !== this.of.clip) this.start();
    if (!this.view || !this.hello || this.asked >= 0) return;
    const frame = Math.min(this.viewer.frameOf(this.view), this.hello.frames - 1);
    if ((frame === this.got && !this.stale) || this.socket.readyState !== WebSocket.OPEN) return;
    this.asked = frame;
    this.stale = false;
    this.socket.send(JSON.stringify({ frame }));
  }

  /** Begins anew: the model plays another clip. */
  private start(): void {
    this.socket.close();
    [this.hello, this.asked, this.stale] = [null, -1, true];
    this.socket = this.connect();
  }

  private listen(message: Message): void {
    if ("error" in message) this.viewer.say(message.error);
    else if ("status" in message) this.status = message.status;
    else this.greet(message);
  }

  private greet(hello: Hello): void {
    this.hello = hello;
    this.awaitsSurface = hello.surface;
    this.controls.length = 0;
    for (const parameter of hello.parameters) {
      const set = (value: number): void => {
        this.socket.send(JSON.stringify({ set: parameter.name, value }));
        this.stale = true;
      };
      const control =
        parameter.choices.length > 0
          ? choice(parameter.label, parameter.choices, parameter.value, set)
          : slider(parameter.label, parameter, set, (value) => String(Number(value.toPrecision(3)))).element;
      control.dataset["parameter"] = parameter.name;
      this.controls.push(control);
    }
    if (this.view) this.viewer.changed();
    else if (!hello.surface) this.show(this.of);
  }

  private takeSurface(bundle: Bundle): void {
    this.awaitsSurface = false;
    if (!this.view) this.show(Model.ofSurface(this.of, bundle, this.hello!.frames));
  }

  /** Makes the view. */
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
    this.got = bundle.indices("frame")[0] ?? 0;
    this.asked = -1;
    figure.poser.receive(renderer, bundle.floats("positions"));
    figure.showSegments(bundle.floats("segments"));
    const scalars = bundle.floats("scalars");
    if (scalars.length > 0 && this.hello?.scalar) this.takeScalars(scalars);
    this.viewer.changed();
  }

  private takeScalars(values: Float32Array): void {
    const { label, unit, signed } = this.hello!.scalar!;
    const { id, model } = this.view!;
    const known = this.viewer.liveScalars.get(id);
    const store = known?.store ?? new Store(values.length, 1);
    store.write(this.viewer.stage.renderer, 0, padded(values, 1, 1, model.pointRows));
    const high = Math.max(known?.high ?? 0, common(values)) || 1;
    this.viewer.liveScalars.set(id, { store, low: signed ? -high : 0, high, signed, label, unit });
  }
}

/** The size that all but the few largest values stay below: one wild point must not take the colours of all others. */
function common(values: Float32Array): number {
  const step = Math.max(1, Math.floor(values.length / 4096));
  const sizes = Float32Array.from({ length: Math.floor(values.length / step) }, (_, i) =>
    Math.abs(values[i * step]!),
  ).sort();
  return sizes[Math.floor(0.98 * sizes.length)] ?? 0;
}
