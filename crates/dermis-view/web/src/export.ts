// Export of what the page shows: a picture, a turntable or the clip as a video, and a link that restores the view.

import { Vector2, Vector3 } from "three";
import type { Look } from "./gpu/figure";
import { SURFACES } from "./gpu/surface";
import type { HeatName, Viewer } from "./viewer";
import { zipped } from "./zip";

/** Pictures and pictures per second of a turntable. */
const TURNTABLE = { pictures: 90, fps: 30 };
const BITS_PER_SECOND = 12_000_000;

/** Draws and returns the picture as PNG, `scale` times as large as on the page. */
export async function png(viewer: Viewer, scale = 1): Promise<Blob> {
  const { renderer } = viewer.stage;
  const [ratio, size] = [renderer.getPixelRatio(), renderer.getSize(new Vector2())];
  const limit = renderer.capabilities.maxTextureSize / Math.max(size.x, size.y);
  try {
    renderer.setPixelRatio(Math.min(scale * ratio, limit));
    viewer.draw();
    return await encoded(renderer.domElement);
  } finally {
    renderer.setPixelRatio(ratio);
    viewer.changed();
  }
}

function encoded(canvas: HTMLCanvasElement): Promise<Blob> {
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser cannot encode the picture"))), "image/png"),
  );
}

export interface Recording {
  blob: Blob;
  /** Extension of the file: a video, or an archive of pictures if the browser cannot encode videos. */
  extension: "webm" | "zip";
}

/** Video of one rotation around the target. */
export function turntable(viewer: Viewer, progress: (fraction: number) => void): Promise<Recording> {
  const { pictures, fps } = TURNTABLE;
  return record(viewer, pictures, fps, progress, (at) => {
    if (at > 0) viewer.stage.turn((2 * Math.PI) / pictures);
  }).finally(() => viewer.stage.turn((2 * Math.PI) / pictures));
}

/** Video of the range of playback, at its speed. */
export function clip(viewer: Viewer, progress: (fraction: number) => void): Promise<Recording> {
  const { first, last } = viewer.span;
  const before = viewer.state.frame;
  const fps = viewer.state.fps * viewer.state.speed;
  return record(viewer, last - first + 1, fps, progress, (at) => viewer.setFrame(first + at)).finally(() =>
    viewer.setFrame(before),
  );
}

async function record(
  viewer: Viewer,
  pictures: number,
  fps: number,
  progress: (fraction: number) => void,
  prepare: (picture: number) => void,
): Promise<Recording> {
  viewer.play(false);
  const type = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm"].find((known) => canRecord(known));
  const canvas = viewer.stage.canvas;
  if (!type) {
    const frames: { name: string; bytes: Uint8Array<ArrayBuffer> }[] = [];
    for (let at = 0; at < pictures; at++) {
      prepare(at);
      viewer.draw();
      const bytes = new Uint8Array(await (await encoded(canvas)).arrayBuffer());
      frames.push({ name: `${String(at).padStart(4, "0")}.png`, bytes });
      progress((at + 1) / pictures);
    }
    return { blob: zipped(frames), extension: "zip" };
  }
  // Pictures are taken on request, so that slow drawing does not skip any.
  const stream = canvas.captureStream(0);
  const track = stream.getVideoTracks()[0] as CanvasCaptureMediaStreamTrack;
  const recorder = new MediaRecorder(stream, { mimeType: type, videoBitsPerSecond: BITS_PER_SECOND });
  const parts: Blob[] = [];
  recorder.ondataavailable = ({ data }) => parts.push(data);
  const ended = new Promise<void>((resolve, reject) => {
    recorder.onstop = () => resolve();
    recorder.onerror = () => reject(new Error("the browser cannot encode the video"));
  });
  recorder.start();
  const began = performance.now();
  for (let at = 0; at < pictures; at++) {
    prepare(at);
    viewer.draw();
    track.requestFrame();
    progress((at + 1) / pictures);
    await until(began + (1000 * (at + 1)) / fps);
  }
  recorder.stop();
  await ended;
  track.stop();
  return { blob: new Blob(parts, { type: "video/webm" }), extension: "webm" };
}

function canRecord(type: string): boolean {
  return typeof MediaRecorder !== "undefined" && MediaRecorder.isTypeSupported(type);
}

/** Waits until a time, and at least until the browser has taken the picture. */
async function until(time: number): Promise<void> {
  await new Promise((resolve) => requestAnimationFrame(resolve));
  const left = time - performance.now();
  if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
}

/** Parts of the state that a link contains. */
interface Linked {
  camera: number[];
  target: number[];
  frame: number;
  active: string | null;
  split: boolean;
  compared: string[];
  hidden: number[];
  rank: number;
  heat: string;
  bone: string | null;
  surface: string;
  look: Look;
  range: [number, number] | null;
  speed: number;
}

const PREFIX = "#view=";
const rounded = (vector: Vector3): number[] => vector.toArray().map((value) => Number(value.toPrecision(6)));

/** Address of the page that restores the current view. */
export function link(viewer: Viewer): string {
  const { state, stage } = viewer;
  const of = state.boneModel ?? viewer.active?.model;
  const linked: Linked = {
    camera: rounded(stage.camera.position),
    target: rounded(stage.controls.target),
    frame: state.frame,
    active: viewer.active?.id ?? null,
    split: state.split,
    compared: [...state.compared],
    hidden: [...state.hidden],
    rank: state.rank,
    heat: state.heat,
    bone: state.heat === "weight" ? (of?.info.bones[state.bone]?.name ?? null) : null,
    surface: state.surface,
    look: state.look,
    range: state.range ? [state.range.first, state.range.last] : null,
    speed: state.speed,
  };
  return location.href.split("#")[0] + PREFIX + encodeURIComponent(JSON.stringify(linked));
}

/** Restores the view of a link. Returns false if the address contains none, or an invalid one. */
export function restore(viewer: Viewer, address: string): boolean {
  const at = address.indexOf(PREFIX);
  if (at < 0) return false;
  let linked: Partial<Linked>;
  try {
    linked = JSON.parse(decodeURIComponent(address.slice(at + PREFIX.length))) as Partial<Linked>;
  } catch {
    viewer.say("The link is incomplete: the view is not restored");
    return false;
  }
  const { state, stage } = viewer;
  const vector = (values: unknown): Vector3 | null =>
    Array.isArray(values) && values.length === 3 && values.every(Number.isFinite)
      ? new Vector3(...(values as [number, number, number]))
      : null;
  const ids = new Set(viewer.views.map((view) => view.id));
  const active = viewer.views.findIndex((view) => view.id === linked.active);
  if (active >= 0) state.active = active;
  state.split = linked.split === true;
  if (Array.isArray(linked.compared)) state.compared = new Set(linked.compared.filter((id) => ids.has(id)));
  if (Array.isArray(linked.hidden)) state.hidden = new Set(linked.hidden.filter((id) => viewer.models.some((m) => m.info.id === id)));
  if (typeof linked.heat === "string") state.heat = linked.heat as HeatName;
  const bone = viewer.active?.model.info.bones.findIndex(({ name }) => name === linked.bone) ?? -1;
  if (bone >= 0) Object.assign(state, { bone, boneModel: viewer.active!.model });
  state.surface = SURFACES.find((name) => name === linked.surface) ?? state.surface;
  for (const name of Object.keys(state.look) as (keyof Look)[]) state.look[name] = linked.look?.[name] === true;
  if (typeof linked.speed === "number" && linked.speed > 0) state.speed = linked.speed;
  if (Array.isArray(linked.range)) viewer.setRange(linked.range[0], linked.range[1]);
  const [camera, target] = [vector(linked.camera), vector(linked.target)];
  if (camera && target) {
    stage.camera.position.copy(camera);
    stage.controls.target.copy(target);
    stage.controls.update();
  }
  if (typeof linked.frame === "number") viewer.setFrame(linked.frame);
  if (typeof linked.rank === "number") viewer.setRank(linked.rank);
  viewer.changed();
  return true;
}
