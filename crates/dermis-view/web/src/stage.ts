// Renderer with one camera for all columns, studio light, floor and backdrop.

import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { Backdrop, THEMES } from "./gpu/backdrop";
import type { Figure } from "./gpu/figure";
import { type Quality, Shadow } from "./gpu/shadow";
import { orient } from "./gpu/studio";
import { countUploads, stats } from "./gpu/uploads";
import type { AssetInfo } from "./source";

const UP: Record<AssetInfo["up"], [number, number, number]> = { x: [1, 0, 0], y: [0, 1, 0], z: [0, 0, 1] };

/** Field of view of the smaller side of a cell, in degrees. */
const FIELD = 35;

/** Directions from which presets look, as multiples of the right, up and front axes. */
export const PRESETS = {
  perspective: [0.75, 0.35, 0.8],
  front: [0, 0, 1],
  back: [0, 0, -1],
  left: [-1, 0, 0],
  right: [1, 0, 0],
  top: [0, 1, 0],
  bottom: [0, -1, 0],
} as const;
export type Preset = keyof typeof PRESETS;

/** Seconds per picture above which the quality of the light is reduced, and the pictures that are considered. */
const SLOW_S = 0.05;
const TIMED = 12;

/** Area of the canvas, in fractions of its width and height from the upper left. */
export interface Cell {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Areas of views side by side, in completely filled rows. */
export function cells(count: number): Cell[] {
  const rows = count <= 2 ? 1 : 2;
  const first = Math.ceil(count / rows);
  return Array.from({ length: count }, (_, at) => {
    const row = at < first ? 0 : 1;
    const width = 1 / (row === 0 ? first : count - first);
    return { left: (at - row * first) * width, top: row / rows, width, height: 1 / rows };
  });
}

export class Stage {
  readonly renderer: THREE.WebGLRenderer;
  readonly camera = new THREE.PerspectiveCamera(FIELD, 1, 0.01, 1000);
  readonly controls: OrbitControls;
  readonly canvas: HTMLCanvasElement;
  private readonly scene = new THREE.Scene();
  private readonly backdrop = new Backdrop();
  private readonly shadow = new Shadow();
  /** Sphere around everything that is framed. */
  private readonly sphere = new THREE.Sphere(new THREE.Vector3(), 1);
  private up = new THREE.Vector3(0, 1, 0);
  private wanted = true;
  private hasFloor = true;
  /** Quality of the light; "auto" is reduced if pictures take long. */
  quality: Quality | "auto" = "auto";
  private level: Quality;
  private times: number[] = [];

  constructor(parent: HTMLElement) {
    this.renderer = new THREE.WebGLRenderer({ antialias: true, alpha: false, powerPreference: "high-performance" });
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    if (!gl.getExtension("EXT_color_buffer_float")) {
      throw new Error("WebGL without float render targets: the viewer needs another browser or GPU");
    }
    countUploads(gl);
    this.canvas = this.renderer.domElement;
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    // Shadows double the time of a picture if the processor draws.
    this.level = drawsOnCpu(gl) ? "none" : "high";
    this.scene.add(...this.backdrop.objects);
    this.setTheme("dark");
    this.renderer.outputColorSpace = THREE.LinearSRGBColorSpace;
    this.renderer.autoClear = false;
    parent.append(this.canvas);
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.addEventListener("change", () => this.invalidate());
    new ResizeObserver(() => this.resize(parent)).observe(parent);
    this.resize(parent);
  }

  get maxRows(): number {
    return this.renderer.capabilities.maxTextureSize;
  }

  invalidate(): void {
    this.wanted = true;
  }

  /** Returns true if drawing has been requested since the last frame. */
  takeWanted(): boolean {
    const wanted = this.wanted;
    this.wanted = false;
    return wanted;
  }

  /** Frames all of `boxes`, from the front right and slightly above. */
  frame(boxes: Pick<AssetInfo, "low" | "high" | "up">[], reach = 1): void {
    const box = new THREE.Box3();
    for (const { low, high } of boxes) box.union(new THREE.Box3(new THREE.Vector3(...low), new THREE.Vector3(...high)));
    if (box.isEmpty()) box.expandByPoint(new THREE.Vector3()).expandByScalar(1);
    const center = box.getCenter(new THREE.Vector3());
    const radius = Math.max(box.getSize(new THREE.Vector3()).length() / 2, 1e-6) * reach;
    this.up.set(...UP[boxes[0]?.up ?? "y"]);
    orient(this.up);
    this.sphere.set(center, radius);
    this.controls.target.copy(center);
    this.look("perspective");
    this.backdrop.place(box, this.up, radius);
  }

  /** Right, up and front axes of the scene. */
  axes(): { right: THREE.Vector3; up: THREE.Vector3; front: THREE.Vector3 } {
    const front = new THREE.Vector3(0, this.up.z === 1 ? -1 : 0, this.up.z === 1 ? 0 : 1);
    return { right: this.up.clone().cross(front).normalize(), up: this.up.clone(), front };
  }

  /** Looks at the target from a preset direction, at the distance that frames the scene. */
  look(preset: Preset): void {
    const { right, up, front } = this.axes();
    const [x, y, z] = PRESETS[preset];
    const direction = new THREE.Vector3().addScaledVector(right, x).addScaledVector(up, y).addScaledVector(front, z);
    // Exactly from above or below the orbit would have no azimuth.
    if (x === 0 && z === 0) direction.addScaledVector(front, 1e-4);
    const { radius } = this.sphere;
    this.camera.up.copy(up);
    this.camera.near = radius / 200;
    this.camera.far = radius * 60;
    this.camera.position.copy(this.controls.target).addScaledVector(direction.normalize(), radius * 3.1);
    this.controls.update();
    this.invalidate();
  }

  /** Moves camera and target by `offset`. */
  move(offset: THREE.Vector3): void {
    this.camera.position.add(offset);
    this.controls.target.add(offset);
    this.sphere.center.add(offset);
    this.controls.update();
    this.invalidate();
  }

  /** Turns the camera about the vertical axis through the target. */
  turn(radians: number): void {
    const from = this.camera.position.clone().sub(this.controls.target);
    this.camera.position.copy(from.applyAxisAngle(this.up, radians).add(this.controls.target));
    this.controls.update();
    this.invalidate();
  }

  setTheme(name: "dark" | "light"): void {
    this.backdrop.setTheme(THEMES[name]);
    this.invalidate();
  }

  /** Reduces the quality of the light if consecutive pictures take long. */
  timed(seconds: number): void {
    if (this.quality !== "auto") return;
    this.times.push(seconds);
    if (this.times.length < TIMED) return;
    const middle = this.times.sort((a, b) => a - b)[TIMED >> 1]!;
    this.times = [];
    if (middle < SLOW_S || this.level === "none") return;
    this.level = this.level === "high" ? "medium" : this.level === "medium" ? "low" : "none";
    this.invalidate();
  }

  get drawnQuality(): Quality {
    return this.quality === "auto" ? this.level : this.quality;
  }

  /** Draws `contents` side by side with the same camera. */
  draw(contents: THREE.Object3D[]): void {
    const { renderer, camera } = this;
    const size = renderer.getSize(new THREE.Vector2());
    renderer.setScissorTest(false);
    renderer.clear(false, true, true);
    const all = cells(contents.length);
    all.forEach((cell, at) => {
      const [width, height] = [cell.width * size.x, cell.height * size.y];
      const [x, y] = [cell.left * size.x, size.y - cell.top * size.y - height];
      const content = contents[at]!;
      const figure = (content.userData["figure"] as Figure | undefined) ?? null;
      renderer.setScissorTest(false);
      this.shadow.prepare(renderer, figure, this.sphere, this.drawnQuality);
      this.aim(cell, all, size);
      renderer.setScissorTest(true);
      renderer.setViewport(x, y, width, height);
      this.backdrop.fill(renderer, x, y, width, height);
      renderer.setScissor(x, y, width, height);
      this.backdrop.show(this.hasFloor, figure !== null, this.drawnQuality);
      this.scene.add(content);
      renderer.render(this.scene, camera);
      this.scene.remove(content);
    });
    stats.draws++;
  }

  /** Ray through a position on the canvas, and the index of its view among `count` views. */
  ray(event: { clientX: number; clientY: number }, count: number): { ray: THREE.Ray; view: number } {
    const rect = this.canvas.getBoundingClientRect();
    const x = (event.clientX - rect.left) / rect.width;
    const y = (event.clientY - rect.top) / rect.height;
    const all = cells(Math.max(count, 1));
    const inside = (c: Cell): boolean => x >= c.left && x < c.left + c.width && y >= c.top && y < c.top + c.height;
    const view = Math.max(all.findIndex(inside), 0);
    const cell = all[view]!;
    this.aim(cell, all, { x: rect.width, y: rect.height });
    const at = new THREE.Vector2(((x - cell.left) / cell.width) * 2 - 1, 1 - ((y - cell.top) / cell.height) * 2);
    const caster = new THREE.Raycaster();
    caster.setFromCamera(at, this.camera);
    return { ray: caster.ray, view };
  }

  /** Adapts the camera to one of `all` cells: objects have the same size in each and fit into the narrowest. */
  private aim(cell: Cell, all: Cell[], size: { x: number; y: number }): void {
    const { camera } = this;
    const aspect = ({ width, height }: Cell): number => (width * size.x) / (height * size.y);
    camera.aspect = aspect(cell);
    const half = Math.tan(THREE.MathUtils.degToRad(FIELD / 2)) / Math.min(...all.map(aspect), 1);
    camera.fov = 2 * THREE.MathUtils.radToDeg(Math.atan(half));
    camera.updateProjectionMatrix();
  }

  /** Waits until the frame is complete, by reading a pixel. */
  finish(): void {
    const gl = this.renderer.getContext();
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
  }

  upVector(): THREE.Vector3 {
    return this.up.clone();
  }

  showFloor(shown: boolean): void {
    this.hasFloor = shown;
    this.invalidate();
  }

  private resize(parent: HTMLElement): void {
    const { clientWidth: width, clientHeight: height } = parent;
    if (width === 0 || height === 0) return;
    this.renderer.setSize(width, height);
    this.invalidate();
  }
}

/** True if WebGL is computed by the processor. */
function drawsOnCpu(gl: WebGL2RenderingContext): boolean {
  const names = gl.getExtension("WEBGL_debug_renderer_info");
  const name = names ? String(gl.getParameter(names.UNMASKED_RENDERER_WEBGL)) : "";
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}
