// Picking: intersection of a ray with the posed triangles.

import type { Ray } from "three";
import type { Model } from "../gpu/model";

export interface Hit {
  point: number;
  corners: [number, number, number];
  /** Barycentric coordinates of the hit in the triangle. */
  at: [number, number, number];
}

/** Nearest hit; `positions` has four floats per point. */
export function hitTest(model: Model, positions: Float32Array, ray: Ray): Hit | null {
  const triangles = model.surface.shownTriangles();
  const [ox, oy, oz] = [ray.origin.x, ray.origin.y, ray.origin.z];
  const [dx, dy, dz] = [ray.direction.x, ray.direction.y, ray.direction.z];
  let nearest = Infinity;
  let hit: Hit | null = null;
  for (let i = 0; i < triangles.length; i += 3) {
    const [a, b, c] = [4 * triangles[i]!, 4 * triangles[i + 1]!, 4 * triangles[i + 2]!];
    const [ax, ay, az] = [positions[a]!, positions[a + 1]!, positions[a + 2]!];
    const [ux, uy, uz] = [positions[b]! - ax, positions[b + 1]! - ay, positions[b + 2]! - az];
    const [vx, vy, vz] = [positions[c]! - ax, positions[c + 1]! - ay, positions[c + 2]! - az];
    const [px, py, pz] = [dy * vz - dz * vy, dz * vx - dx * vz, dx * vy - dy * vx];
    const determinant = ux * px + uy * py + uz * pz;
    if (determinant === 0) continue;
    const [tx, ty, tz] = [ox - ax, oy - ay, oz - az];
    const s = (tx * px + ty * py + tz * pz) / determinant;
    if (s < 0 || s > 1) continue;
    const [qx, qy, qz] = [ty * uz - tz * uy, tz * ux - tx * uz, tx * uy - ty * ux];
    const t = (dx * qx + dy * qy + dz * qz) / determinant;
    if (t < 0 || s + t > 1) continue;
    const distance = (vx * qx + vy * qy + vz * qz) / determinant;
    if (distance <= 0 || distance >= nearest) continue;
    nearest = distance;
    const at: Hit["at"] = [1 - s - t, s, t];
    const corner = at.indexOf(Math.max(...at));
    hit = { point: triangles[i + corner]!, corners: [a / 4, b / 4, c / 4], at };
  }
  return hit;
}
