// A deformer that runs in the server: asks for the frame shown, takes its positions, and has its sliders.

import { padded, Store } from "../gpu/store";
import { Figure } from "../gpu/figure";
import { type Slider, slider } from "../ui/dom";
import type { View, Viewer } from "../viewer";

interface Parameter {
  name: string;
  label: string;
  low: number;
  high: number;
  step: number;
  value: number;
}

interface Hello {
  points: number;
  frames: number;
  parameters: Parameter[];
  scalar: { label: string; unit: string; signed: boolean } | null;
}

export class Live {
  readonly sliders: Slider[] = [];
  private asked = -1;
  private got = -1;
  private stale = true;
  private hello: Hello | null = null;

  private constructor(
    private readonly viewer: Viewer,
    private readonly view: View,
    private readonly socket: WebSocket,
    ready: () => void,
  ) {
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data === "string") {
        this.greet(JSON.parse(data) as Hello);
        ready();
      } else this.take(data);
    };
  }

  /** Streams into a view that is fed by the server: an original too large for textures. */
  static feed(viewer: Viewer, view: View, kind: "pose" | "recorded", ready: () => void): Live {
    const { id } = view.model.info;
    const path = `api/assets/${id}/live/${kind}?clip=${Math.max(view.model.clip, 0)}`;
    const url = new URL(path, window.location.href.replace(/^http/, "ws"));
    return new Live(viewer, view, new WebSocket(url), ready);
  }

  /** Adds a view that the server poses, in double precision. */
  static pose(viewer: Viewer, of: View, ready: () => void): Live {
    const tag = "on the server" as const;
    const { model } = of;
    const label = viewer.scene.assets.length > 1 ? `${model.info.label} · ${tag}` : tag;
    const view: View = { id: `${model.info.id}:${tag}`, label, tag, model, figure: new Figure(model, "live") };
    viewer.views.push(view);
    return Live.feed(viewer, view, "pose", ready);
  }

  /** Asks for the frame shown, once the last one has come. */
  tick(): void {
    const frame = this.viewer.frameOf(this.view);
    if (!this.hello || this.asked >= 0 || (frame === this.got && !this.stale)) return;
    if (this.socket.readyState !== WebSocket.OPEN) return;
    this.asked = frame;
    this.stale = false;
    this.socket.send(JSON.stringify({ frame }));
  }

  private greet(hello: Hello): void {
    this.hello = hello;
    for (const parameter of hello.parameters) {
      this.sliders.push(
        slider(parameter.label, parameter, (value) => {
          this.socket.send(JSON.stringify({ set: parameter.name, value }));
          this.stale = true;
        }),
      );
    }
  }

  private take(data: ArrayBuffer): void {
    const [frame, points, scalars] = new Uint32Array(data, 0, 3) as unknown as [number, number, number];
    this.got = frame;
    this.asked = -1;
    const { renderer } = this.viewer.stage;
    this.view.figure.poser.receive(renderer, new Float32Array(data, 12, 3 * points));
    if (scalars === 1 && this.hello?.scalar) this.takeScalars(new Float32Array(data, 12 + 12 * points, points));
    this.viewer.changed();
  }

  private takeScalars(values: Float32Array): void {
    const scalar = this.hello!.scalar!;
    const rows = this.view.model.pointRows;
    const known = this.viewer.liveScalar;
    const store = known?.store ?? new Store(values.length, 1);
    store.write(this.viewer.stage.renderer, 0, padded(values, 1, 1, rows));
    const high = Math.max(known?.high ?? 0, common(values)) || 1;
    const low = scalar.signed ? -high : 0;
    this.viewer.liveScalar = { store, low, high, signed: scalar.signed, label: scalar.label, unit: scalar.unit };
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
