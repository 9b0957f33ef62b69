// Structure of the weights of a skin: points and connected parts of each bone, and influences per point.

import type { Model } from "../gpu/model";

export interface BoneStats {
  points: number;
  /** Connected parts of the surface where the weight is positive. */
  parts: number;
  /** Parts with fewer than ten points. */
  islands: number;
  largest: number;
}

/** Number of points below which a part is an island. */
const ISLAND = 10;

const influences = new WeakMap<Model, number>();

/** Mean number of influences per point. */
export function meanInfluences(model: Model): number {
  let mean = influences.get(model);
  if (mean === undefined) {
    mean = model.weights.reduce((sum, weight) => sum + (weight !== 0 ? 1 : 0), 0) / Math.max(model.pointCount, 1);
    influences.set(model, mean);
  }
  return mean;
}

/** Statistics of one bone; parts are found by joining the ends of edges where both have weight. */
export function boneStats(model: Model, bone: number): BoneStats {
  const weights = model.boneWeights(bone);
  const parent = Int32Array.from(weights, (weight, point) => (weight > 0 ? point : -1));
  const root = (point: number): number => {
    let at = point;
    while (parent[at] !== at) at = parent[at] = parent[parent[at]!]!;
    return at;
  };
  const { triangles } = model;
  for (let i = 0; i < triangles.length; i += 3) {
    for (const [a, b] of [
      [triangles[i]!, triangles[i + 1]!],
      [triangles[i + 1]!, triangles[i + 2]!],
      [triangles[i + 2]!, triangles[i]!],
    ] as const) {
      if (parent[a]! >= 0 && parent[b]! >= 0) parent[root(a)] = root(b);
    }
  }
  const sizes = new Map<number, number>();
  let largest = 0;
  weights.forEach((weight, point) => {
    largest = Math.max(largest, weight);
    if (weight > 0) sizes.set(root(point), (sizes.get(root(point)) ?? 0) + 1);
  });
  const counts = [...sizes.values()];
  return {
    points: counts.reduce((sum, count) => sum + count, 0),
    parts: counts.length,
    islands: counts.filter((count) => count < ISLAND).length,
    largest,
  };
}
