// Data sources of the page: the server, or the embedded data of a report.

import { Bundle } from "./bundle";
import type { SurfaceData, SurfaceInfo } from "./gpu/layout";

export interface MotionInfo {
  name: string;
  frames: number;
  fps: number;
  /** Asset whose recorded frames a clip is compared with. */
  reference?: number | null;
}

export interface BoneInfo {
  name: string;
  parent: number | null;
  anchor: [number, number, number];
  /** Other end of the bone in the rest pose; `null` if it has no length. */
  tail: [number, number, number] | null;
  /** True for an end joint, which only marks the end of its parent. */
  is_end: boolean;
}

export interface AssetInfo {
  id: number;
  label: string;
  name: string;
  points: number;
  triangles: number;
  recorded: MotionInfo | null;
  clips: MotionInfo[];
  bones: BoneInfo[];
  rank: number;
  influences: number;
  attributes: string[];
  layers: string[];
  /** True for a layered body, which can be simulated. */
  tissue: boolean;
  /** True if precomputed light is stored with the asset. */
  light: boolean;
  /** Clip that is shown first. */
  first_clip: number | null;
  low: [number, number, number];
  high: [number, number, number];
  diagonal: number;
  up: "x" | "y" | "z";
  unit: string;
  lods: { points: number; triangles: number }[];
  notes: string[];
}

export interface SceneInfo {
  version: string;
  assets: AssetInfo[];
  paint: string | null;
  output: string | null;
  droppable: string[];
  upload_limit: number;
  /** Identifies a run of the server. */
  session: string;
  /** Number of saves by all pages. */
  revision: number;
}

export interface RankMeasures {
  rank: number;
  bones: number;
  distortion_percent: number;
  max_error: number;
  /** Upper bound of the error of 98 % of all points in all frames. */
  error_98th_percentile: number;
  text: Record<string, string>;
}

export interface Source {
  scene(): Promise<SceneInfo>;
  mesh(asset: number, level: number): Promise<Bundle>;
  clip(asset: number, level: number, clip: number): Promise<Bundle>;
  frames(asset: number, first: number, count: number): Promise<Bundle>;
  /** Measures of a fit; `null` if there is no reference. */
  measures(asset: number, clip: number, rank: number): Promise<RankMeasures | null>;
  pointErrors(asset: number, clip: number, point: number, rank: number): Promise<number[] | null>;
  /** Vertices, materials and parts; `null` if the source has none. */
  surface(asset: number): Promise<SurfaceData | null>;
  /** Errors of each frame; `null` if there is no reference. */
  frameErrors(asset: number, clip: number, rank: number): Promise<FrameErrors | null>;
}

export interface FrameErrors {
  rms: number[];
  max: number[];
}

/** Edit of the brush: the rest pose, the values of an attribute, or both. */
export interface Edit {
  rest: Float32Array<ArrayBuffer> | null;
  attribute: string | null;
  values: Float32Array<ArrayBuffer> | null;
}

/** Rejection of a save because another page has saved before. */
export class SaveConflict extends Error {}

/** Server of this page. */
export class ServerSource implements Source {
  async scene(): Promise<SceneInfo> {
    return (await answer("api/scene")).json() as Promise<SceneInfo>;
  }

  mesh(asset: number, level: number): Promise<Bundle> {
    return bundle(`api/assets/${asset}/levels/${level}/mesh`);
  }

  clip(asset: number, level: number, clip: number): Promise<Bundle> {
    return bundle(`api/assets/${asset}/levels/${level}/clips/${clip}`);
  }

  frames(asset: number, first: number, count: number): Promise<Bundle> {
    return bundle(`api/assets/${asset}/frames?first=${first}&count=${count}`);
  }

  async measures(asset: number, clip: number, rank: number): Promise<RankMeasures | null> {
    const response = await reach(`api/assets/${asset}/measures?rank=${rank}&clip=${clip}`);
    return response.ok ? ((await response.json()) as RankMeasures) : null;
  }

  async pointErrors(asset: number, clip: number, point: number, rank: number): Promise<number[] | null> {
    const response = await reach(`api/assets/${asset}/points/${point}?rank=${rank}&clip=${clip}`);
    return response.ok ? ((await response.json()) as number[]) : null;
  }

  async surface(asset: number): Promise<SurfaceData> {
    const [info, vertices] = await Promise.all([
      answer(`api/assets/${asset}/surface`).then((response) => response.json() as Promise<SurfaceInfo>),
      answer(`api/assets/${asset}/vertices`).then((response) => response.arrayBuffer()),
    ]);
    const image = async (index: number): Promise<ImageBitmap> => {
      const response = await answer(`api/assets/${asset}/images/${index}`);
      return createImageBitmap(await response.blob(), { colorSpaceConversion: "none", premultiplyAlpha: "none" });
    };
    return { info, vertices: vertices.byteLength > 0 ? new Bundle(vertices) : null, image };
  }

  async frameErrors(asset: number, clip: number, rank: number): Promise<FrameErrors | null> {
    const response = await reach(`api/assets/${asset}/errors?rank=${rank}&clip=${clip}`);
    return response.ok ? ((await response.json()) as FrameErrors) : null;
  }

  /** Sends a dropped file. Returns the index of its asset. */
  async drop(file: File): Promise<number> {
    const response = await answer(`api/drop?name=${encodeURIComponent(file.name)}`, file);
    return ((await response.json()) as { asset: number }).asset;
  }

  /**
   * Saves an edit, unless another page has saved since `revision`. Returns the files written and the new revision, or
   * the file itself if the server has no output.
   */
  async save(asset: number, { rest, attribute, values }: Edit, revision: number): Promise<Written | Blob> {
    const known = { rest: String(rest !== null), revision: String(revision) };
    const query = new URLSearchParams({ ...known, ...(attribute !== null && { attribute }) });
    const parts = [rest, values].filter((part) => part !== null);
    const response = await answer(`api/assets/${asset}/edit?${query}`, new Blob(parts));
    if (response.headers.get("content-type") === "model/gltf-binary") return response.blob();
    return (await response.json()) as Written;
  }
}

export interface Written {
  written: string[];
  revision: number;
}

/** Request that reports a missing server. */
async function reach(path: string, body?: Blob): Promise<Response> {
  try {
    return await fetch(path, body ? { method: "POST", body } : {});
  } catch {
    throw new Error("the server has stopped: start dermis again with the same --port");
  }
}

async function answer(path: string, body?: Blob): Promise<Response> {
  const response = await reach(path, body);
  if (response.ok) return response;
  const text = await response.text();
  let message = text || response.statusText;
  try {
    message = (JSON.parse(text) as { error: string }).error;
  } catch {
    // The response is plain text.
  }
  throw response.status === 409 ? new SaveConflict(message) : new Error(message);
}

async function bundle(path: string): Promise<Bundle> {
  return new Bundle(await (await answer(path)).arrayBuffer());
}
