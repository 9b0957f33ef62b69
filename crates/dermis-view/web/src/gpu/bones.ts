// Bones as octahedra from their joint to their tail, drawn over the surface.

import * as THREE from "three";
import type { BoneInfo } from "../source";
import { boneColor } from "./colors";

/** Position of the widest part of a bone along it, and its radius, relative to the length. */
const WAIST = 0.16;
const RADIUS = 0.1;
/** Size of a bone without a length, relative to the diagonal of the shape. */
const DOT = 0.01;

type Corners = { head: THREE.Vector3; tail: THREE.Vector3; waist: THREE.Vector3[] };

/** Corners of the octahedron of a bone; `null` for an end joint. */
export function corners(bone: BoneInfo, diagonal: number): Corners | null {
  if (bone.is_end) return null;
  const head = new THREE.Vector3(...bone.anchor);
  const tail = bone.tail ? new THREE.Vector3(...bone.tail) : head.clone().setY(head.y + DOT * diagonal);
  const along = tail.clone().sub(head);
  const length = along.length();
  along.normalize();
  const across = new THREE.Vector3(Math.abs(along.x) < 0.9 ? 1 : 0, Math.abs(along.x) < 0.9 ? 0 : 1, 0)
    .cross(along)
    .normalize();
  const other = along.clone().cross(across);
  const middle = head.clone().addScaledVector(along, WAIST * length);
  const waist = [across, other, across.clone().negate(), other.clone().negate()].map((direction) =>
    middle.clone().addScaledVector(direction, RADIUS * length),
  );
  return { head, tail, waist };
}

/** Triangles of all bones with the attributes of `BONE_VERTEX`. */
export function boneGeometry(bones: BoneInfo[], diagonal: number): THREE.BufferGeometry {
  const parts: Record<string, number[]> = { corner: [], facing: [], boneColor: [], edge: [], bone: [] };
  bones.forEach((info, bone) => {
    const shape = corners(info, diagonal);
    if (!shape) return;
    shape.waist.forEach((corner, side) => {
      const next = shape.waist[(side + 1) % 4]!;
      for (const [a, b, c] of [
        [shape.head, next, corner],
        [shape.tail, corner, next],
      ] as const) {
        const facing = b.clone().sub(a).cross(c.clone().sub(a)).normalize();
        [a, b, c].forEach((place, at) => {
          parts["corner"]!.push(place.x, place.y, place.z);
          parts["facing"]!.push(facing.x, facing.y, facing.z);
          parts["boneColor"]!.push(...boneColor(bone));
          // Distance from the opposite edge: 1 at the corner itself.
          parts["edge"]!.push(...[0, 1, 2].map((k) => (k === at ? 1 : 0)));
          parts["bone"]!.push(bone);
        });
      }
    });
  });
  const geometry = new THREE.BufferGeometry();
  for (const [name, values] of Object.entries(parts)) {
    geometry.setAttribute(name, new THREE.Float32BufferAttribute(values, name === "bone" ? 1 : 3));
  }
  geometry.setIndex(parts["bone"]!.map((_, i) => i));
  return geometry;
}

/** Bone whose octahedron a ray passes nearest to its axis, within its radius; `pose` moves points of a bone. */
export function boneUnder(
  bones: BoneInfo[],
  diagonal: number,
  pose: (bone: number, point: THREE.Vector3) => THREE.Vector3,
  ray: THREE.Ray,
): number | null {
  let [best, found] = [1, null as number | null];
  bones.forEach((info, bone) => {
    const shape = corners(info, diagonal);
    if (!shape) return;
    const [head, tail] = [pose(bone, shape.head), pose(bone, shape.tail)];
    const radius = RADIUS * head.distanceTo(tail) + 0.003 * diagonal;
    const distance = Math.sqrt(ray.distanceSqToSegment(head, tail)) / radius;
    if (distance < best) [best, found] = [distance, bone];
  });
  return found;
}
