// Distant instances of a crowd: squares with pictures of the model. Pictures are drawn when a direction is first needed,
// in a few phases of the motion; of a streamed view, which has one pose, in every frame.

import * as THREE from "three";
import { IMPOSTOR_FRAGMENT, IMPOSTOR_VERTEX, PICTURE_FRAGMENT, PICTURE_VERTEX } from "../gpu/crowd_shaders";
import { raw } from "../gpu/figure";

/** Size of a picture in pixels, and the number of directions that are kept. */
const [TILE, ROWS] = [96, 20];
/** Phases of a motion that have a picture. */
const PHASES = 8;
/** Angles between the directions of pictures, in radians. */
const [AZIMUTH_STEP, ELEVATION_STEP] = [Math.PI / 9, Math.PI / 12];
/** Maximum number of directions that are drawn in one frame. */
const MAX_NEW = 2;

/** Direction from which an instance is seen. */
export interface Direction {
  azimuth: number;
  elevation: number;
  key: string;
}

/** Model of the pictures: sets the uniforms of its pose. */
export interface Posed {
  index: THREE.BufferAttribute;
  uniforms: Record<string, THREE.IUniform>;
  frames: number;
  /** True if all instances have the pose of the last frame that the server has sent. */
  streamed: boolean;
}

export class Impostors {
  readonly mesh: THREE.Mesh<THREE.InstancedBufferGeometry, THREE.RawShaderMaterial>;
  private readonly target: THREE.WebGLRenderTarget;
  private readonly picture: THREE.Mesh<THREE.BufferGeometry, THREE.RawShaderMaterial>;
  private readonly camera = new THREE.Camera();
  private readonly rows = new Map<string, { row: number; direction: Direction }>();
  private readonly phases: number;
  private readonly ground: THREE.Matrix3;
  private version = "";

  constructor(
    private readonly posed: Posed,
    capacity: number,
    box: THREE.Sphere,
    rotation: THREE.Quaternion,
  ) {
    this.phases = posed.streamed ? 1 : Math.min(PHASES, posed.frames);
    this.ground = new THREE.Matrix3().setFromMatrix4(new THREE.Matrix4().makeRotationFromQuaternion(rotation));
    this.target = new THREE.WebGLRenderTarget(TILE * this.phases, TILE * ROWS, { samples: 4, depthBuffer: true });
    const shared = { center: { value: box.center }, radius: { value: box.radius } };
    const directions = { right: { value: new THREE.Vector3() }, up: { value: new THREE.Vector3() } };
    const material = raw(PICTURE_VERTEX, PICTURE_FRAGMENT, {
      ...posed.uniforms,
      ...shared,
      ...directions,
      towards: { value: new THREE.Vector3() },
      frame: { value: 0 },
    });
    material.side = THREE.DoubleSide;
    this.picture = new THREE.Mesh(new THREE.BufferGeometry().setIndex(posed.index), material);
    this.picture.frustumCulled = false;
    const geometry = new THREE.InstancedBufferGeometry().setIndex([0, 1, 2, 0, 2, 3]) as THREE.InstancedBufferGeometry;
    const attribute = (size: number): THREE.InstancedBufferAttribute =>
      new THREE.InstancedBufferAttribute(new Float32Array(size * capacity), size);
    geometry.setAttribute("offset", attribute(4));
    geometry.setAttribute("instanceColor", attribute(3));
    geometry.setAttribute("seen", attribute(3));
    geometry.instanceCount = 0;
    const drawn = raw(IMPOSTOR_VERTEX, IMPOSTOR_FRAGMENT, {
      ...shared,
      ground: { value: this.ground },
      pictures: { value: this.target.texture },
      tile: { value: new THREE.Vector2(1 / this.phases, 1 / ROWS) },
      phases: { value: this.phases },
      frame: { value: 0 },
      frameCount: { value: posed.streamed ? 1 : posed.frames },
    });
    drawn.side = THREE.DoubleSide;
    this.mesh = new THREE.Mesh(geometry, drawn);
    this.mesh.frustumCulled = false;
  }

  /** Direction, from a point of the ground towards the camera, of the nearest pictures. */
  static direction(towards: THREE.Vector3): Direction {
    const flat = Math.hypot(towards.x, towards.z);
    const [a, e] = [
      Math.round(Math.atan2(towards.x, towards.z) / AZIMUTH_STEP),
      Math.round(Math.atan2(towards.y, flat) / ELEVATION_STEP),
    ];
    return { azimuth: a * AZIMUTH_STEP, elevation: e * ELEVATION_STEP, key: `${a} ${e}` };
  }

  /** Row of the pictures of a direction, or of the nearest that has been drawn; `null` if there is none. */
  rowOf(direction: Direction): { row: number; direction: Direction } | null {
    const known = this.rows.get(direction.key);
    if (known) return known;
    let [nearest, found] = [Infinity, null as { row: number; direction: Direction } | null];
    for (const other of this.rows.values()) {
      const turn = Math.abs(other.direction.azimuth - direction.azimuth) % (2 * Math.PI);
      const distance =
        Math.min(turn, 2 * Math.PI - turn) + Math.abs(other.direction.elevation - direction.elevation);
      if (distance < nearest) [nearest, found] = [distance, other];
    }
    return found;
  }

  /** Draws pictures of directions that have none. Returns true if all have been drawn. */
  draw(renderer: THREE.WebGLRenderer, wanted: Map<string, Direction>, version: string): boolean {
    if (version !== this.version) {
      this.version = version;
      const kept = this.posed.streamed ? [...this.rows.values()] : [];
      if (!this.posed.streamed) this.rows.clear();
      // A streamed pose is drawn again from all directions that are in use.
      for (const { row, direction } of kept) this.drawRow(renderer, row, direction);
    }
    const missing = [...wanted.values()].filter(({ key }) => !this.rows.has(key));
    if (missing.length > 0 && this.rows.size + missing.length > ROWS) this.rows.clear();
    for (const direction of missing.slice(0, MAX_NEW)) {
      const row = this.rows.size;
      if (row >= ROWS) break;
      this.drawRow(renderer, row, direction);
      this.rows.set(direction.key, { row, direction });
    }
    return missing.length <= MAX_NEW;
  }

  private drawRow(renderer: THREE.WebGLRenderer, row: number, { azimuth, elevation }: Direction): void {
    const { uniforms } = this.picture.material;
    const towards = new THREE.Vector3(
      Math.sin(azimuth) * Math.cos(elevation),
      Math.sin(elevation),
      Math.cos(azimuth) * Math.cos(elevation),
    );
    const right = new THREE.Vector3(Math.cos(azimuth), 0, -Math.sin(azimuth));
    const up = towards.clone().cross(right);
    for (const [name, axis] of Object.entries({ towards, right, up }))
      (uniforms[name]!.value as THREE.Vector3).copy(axis).applyMatrix3(this.ground);
    const before = renderer.getRenderTarget();
    const clear = renderer.getClearColor(new THREE.Color());
    const alpha = renderer.getClearAlpha();
    renderer.setClearColor(0x000000, 0);
    renderer.setRenderTarget(this.target);
    this.target.scissorTest = true;
    for (let phase = 0; phase < this.phases; phase++) {
      uniforms["frame"]!.value = this.posed.streamed ? 0 : Math.floor((phase * this.posed.frames) / this.phases);
      this.target.viewport.set(phase * TILE, row * TILE, TILE, TILE);
      this.target.scissor.copy(this.target.viewport);
      renderer.setRenderTarget(this.target);
      renderer.clear();
      renderer.render(this.picture, this.camera);
    }
    renderer.setClearColor(clear, alpha);
    renderer.setRenderTarget(before);
  }

  dispose(): void {
    this.target.dispose();
    this.mesh.geometry.dispose();
    this.mesh.material.dispose();
    this.picture.geometry.dispose();
    this.picture.material.dispose();
  }
}
