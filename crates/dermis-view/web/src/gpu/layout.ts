// Surface of the file: vertices split at seams, materials with their textures, and parts that can be hidden.

import * as THREE from "three";
import type { Bundle } from "../bundle";
import { Store } from "./store";

export interface TextureInfo {
  image: number;
  uv_set: number;
  factor: number;
  wrap_s: number;
  wrap_t: number;
  mag_filter: number | null;
}

export interface MaterialInfo {
  name: string;
  base_color: [number, number, number, number];
  metallic: number;
  roughness: number;
  emissive: [number, number, number];
  base_color_texture: TextureInfo | null;
  metallic_roughness_texture: TextureInfo | null;
  normal_texture: TextureInfo | null;
  occlusion_texture: TextureInfo | null;
  emissive_texture: TextureInfo | null;
  cutoff: number | null;
  is_blended: boolean;
}

export interface SurfaceInfo {
  parts: { name: string; triangles: number }[];
  materials: MaterialInfo[];
}

/** Description, vertices (`null` if there are none) and images of the surface of an asset. */
export interface SurfaceData {
  info: SurfaceInfo;
  vertices: Bundle | null;
  image(index: number): Promise<ImageBitmap>;
}

/** Range of a triangle list with one material. */
export interface Group {
  material: number;
  first: number;
  count: number;
}

/** Maximum distance of normals that belong to the same smooth surface. */
const SAME_NORMAL = 0.02;

export class Layout {
  /** Point and entry of the normal of each vertex. */
  readonly corners: Uint32Array<ArrayBuffer>;
  readonly uvs: Float32Array<ArrayBuffer>;
  readonly colors: Float32Array<ArrayBuffer> | null;
  readonly triangles: Uint32Array<ArrayBuffer>;
  readonly materialOf: Uint32Array<ArrayBuffer>;
  /** Number of normals; more than points if edges are sharp. */
  readonly normalCount: number;
  readonly ringStarts: Store | null;
  readonly rings: Store | null;
  /** Point of each normal. */
  readonly normalPoints: Store | null;

  constructor(
    readonly info: SurfaceInfo,
    bundle: Bundle,
    points: number,
  ) {
    const vertexPoints = bundle.indices("vertex_points");
    this.triangles = bundle.indices("triangles");
    this.materialOf = bundle.indices("triangle_materials");
    const colors = bundle.floats("colors");
    this.colors = colors.length > 0 ? colors : null;
    this.uvs = interleaved(bundle.floats("uv0"), bundle.floats("uv1"), vertexPoints.length);
    const { entries, count } = smoothGroups(vertexPoints, bundle.floats("normals"), points);
    this.normalCount = count;
    this.corners = new Uint32Array(2 * vertexPoints.length);
    vertexPoints.forEach((point, vertex) => this.corners.set([point, entries[vertex]!], 2 * vertex));
    const sharp = count > points ? normalRings(this.triangles, vertexPoints, entries, count) : null;
    this.ringStarts = sharp?.starts ?? null;
    this.rings = sharp?.rings ?? null;
    this.normalPoints = sharp?.points ?? null;
  }

  /** True if the file gives the surface a look of its own. */
  get hasLook(): boolean {
    return (
      this.colors !== null ||
      this.info.materials.some(
        (material) => material.base_color_texture !== null || material.base_color.some((c) => Math.abs(c - 0.8) > 0.21),
      ) ||
      this.info.materials.length > 1
    );
  }
}

/** Both UV sets of each vertex. */
function interleaved(first: Float32Array, second: Float32Array, vertices: number): Float32Array<ArrayBuffer> {
  const uvs = new Float32Array(4 * vertices);
  for (let at = 0; at < vertices; at++) {
    uvs.set([first[2 * at] ?? 0, first[2 * at + 1] ?? 0, second[2 * at] ?? 0, second[2 * at + 1] ?? 0], 4 * at);
  }
  return uvs;
}

/**
 * Entry of the normal of each vertex. The first normal of a point has the index of the point. Vertices of a point with
 * another normal in the file get another entry, so that sharp edges and flat shading remain in every pose.
 */
function smoothGroups(
  vertexPoints: Uint32Array,
  normals: Float32Array,
  points: number,
): { entries: Uint32Array; count: number } {
  const entries = Uint32Array.from(vertexPoints);
  if (normals.length === 0) return { entries, count: points };
  let count = points;
  const known = new Map<number, { vertex: number; entry: number }[]>();
  vertexPoints.forEach((point, vertex) => {
    let groups = known.get(point);
    if (!groups) known.set(point, (groups = []));
    const distance = (other: number): number =>
      Math.hypot(...[0, 1, 2].map((c) => normals[3 * vertex + c]! - normals[3 * other + c]!));
    const same = groups.find((group) => distance(group.vertex) < SAME_NORMAL);
    const entry = same?.entry ?? (groups.length === 0 ? point : count++);
    if (!same) groups.push({ vertex, entry });
    entries[vertex] = entry;
  });
  return { entries, count };
}

/** For each normal, its point and the other two corners of each of its triangles. */
function normalRings(
  triangles: Uint32Array,
  vertexPoints: Uint32Array,
  entries: Uint32Array,
  count: number,
): { starts: Store; rings: Store; points: Store } {
  const counts = new Uint32Array(count + 1);
  for (const vertex of triangles) counts[entries[vertex]! + 1]!++;
  for (let i = 0; i < count; i++) counts[i + 1]! += counts[i]!;
  const starts = new Float32Array(2 * count);
  for (let i = 0; i < count; i++) starts.set([counts[i]!, counts[i + 1]!], 2 * i);
  const next = counts.slice();
  const others = new Float32Array(2 * triangles.length);
  triangles.forEach((vertex, i) => {
    const first = i - (i % 3);
    const at = 2 * next[entries[vertex]!]!++;
    others[at] = vertexPoints[triangles[first + ((i + 1) % 3)]!]!;
    others[at + 1] = vertexPoints[triangles[first + ((i + 2) % 3)]!]!;
  });
  const points = new Float32Array(count);
  vertexPoints.forEach((point, vertex) => (points[entries[vertex]!] = point));
  return { starts: Store.packed(starts, 2, 2), rings: Store.packed(others, 2, 2), points: Store.packed(points, 1, 1) };
}

/** Triangles that are shown, ordered by material, with one group for each material. */
export function grouped(
  triangles: Uint32Array,
  materialOf: Uint32Array,
  parts: SurfaceInfo["parts"],
  isHidden: (part: number) => boolean,
): { index: Uint32Array<ArrayBuffer>; groups: Group[] } {
  const byMaterial = new Map<number, number[]>();
  let first = 0;
  const ranges = parts.length > 0 ? parts : [{ name: "", triangles: triangles.length / 3 }];
  ranges.forEach(({ triangles: count }, part) => {
    for (let at = first; at < first + count && !isHidden(part); at++) {
      const material = materialOf[at] ?? 0;
      let list = byMaterial.get(material);
      if (!list) byMaterial.set(material, (list = []));
      list.push(triangles[3 * at]!, triangles[3 * at + 1]!, triangles[3 * at + 2]!);
    }
    first += count;
  });
  const groups: Group[] = [];
  const index: number[][] = [];
  let used = 0;
  for (const [material, list] of [...byMaterial].sort(([a], [b]) => a - b)) {
    groups.push({ material, first: used, count: list.length });
    index.push(list);
    used += list.length;
  }
  const all = new Uint32Array(used);
  groups.forEach(({ first: at }, group) => all.set(index[group]!, at));
  return { index: all, groups };
}

const WRAPS: Record<number, THREE.Wrapping> = {
  33071: THREE.ClampToEdgeWrapping,
  33648: THREE.MirroredRepeatWrapping,
  10497: THREE.RepeatWrapping,
};
const NEAREST = 9728;

/** Textures of the images, loaded once per use. */
export class Textures {
  private readonly loaded = new Map<string, Promise<THREE.Texture>>();

  constructor(private readonly image: SurfaceData["image"]) {}

  load(info: TextureInfo): Promise<THREE.Texture> {
    const key = JSON.stringify([info.image, info.wrap_s, info.wrap_t, info.mag_filter]);
    let texture = this.loaded.get(key);
    if (!texture) this.loaded.set(key, (texture = this.make(info)));
    return texture;
  }

  async dispose(): Promise<void> {
    for (const texture of this.loaded.values()) (await texture).dispose();
  }

  private async make(info: TextureInfo): Promise<THREE.Texture> {
    const texture = new THREE.Texture(await this.image(info.image));
    texture.flipY = false;
    texture.wrapS = WRAPS[info.wrap_s] ?? THREE.RepeatWrapping;
    texture.wrapT = WRAPS[info.wrap_t] ?? THREE.RepeatWrapping;
    texture.magFilter = info.mag_filter === NEAREST ? THREE.NearestFilter : THREE.LinearFilter;
    texture.minFilter = THREE.LinearMipmapLinearFilter;
    texture.anisotropy = 4;
    texture.needsUpdate = true;
    return texture;
  }
}
