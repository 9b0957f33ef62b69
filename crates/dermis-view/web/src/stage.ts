// Renderer with one camera for all columns and a ground grid.

import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { countUploads, stats } from "./gpu/uploads";
import type { AssetInfo } from "./source";

/** Colours are in display space; the shaders, not the renderer, encode them. */
const shown = (hex: number): THREE.Color => new THREE.Color().setHex(hex, THREE.LinearSRGBColorSpace);
const BACKGROUND = shown(0x1d2025);
const UP: Record<AssetInfo["up"], [number, number, number]> = { x: [1, 0, 0], y: [0, 1, 0], z: [0, 0, 1] };

/** Field of view of the smaller side of a cell, in degrees. */
const FIELD = 35;

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
  private grid: THREE.GridHelper | null = null;
  private up = new THREE.Vector3(0, 1, 0);
  private wanted = true;

  constructor(parent: HTMLElement) {
    this.renderer = new THREE.WebGLRenderer({ antialias: true, powerPreference: "high-performance" });
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    if (!gl.getExtension("EXT_color_buffer_float")) {
      throw new Error("WebGL without float render targets: the viewer needs another browser or GPU");
    }
    countUploads(gl);
    this.canvas = this.renderer.domElement;
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.renderer.setClearColor(BACKGROUND);
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
    const side = this.up.x === 1 ? new THREE.Vector3(0, 1, 0.6) : new THREE.Vector3(0.75, 0, 0);
    const front = this.up.z === 1 ? new THREE.Vector3(0, -1, 0) : new THREE.Vector3(0, 0, 1);
    const direction = side.addScaledVector(front, 0.8).addScaledVector(this.up, 0.35).normalize();
    this.camera.up.copy(this.up);
    this.camera.near = radius / 200;
    this.camera.far = radius * 60;
    this.camera.position.copy(center).addScaledVector(direction, radius * 3.1);
    this.controls.target.copy(center);
    this.controls.update();
    this.placeGrid(box, radius);
    this.invalidate();
  }

  /** Draws `contents` side by side with the same camera. */
  draw(contents: THREE.Object3D[]): void {
    const { renderer, camera } = this;
    const size = renderer.getSize(new THREE.Vector2());
    renderer.setScissorTest(false);
    renderer.clear();
    renderer.setScissorTest(true);
    const all = cells(contents.length);
    all.forEach((cell, at) => {
      const [width, height] = [cell.width * size.x, cell.height * size.y];
      const [x, y] = [cell.left * size.x, size.y - cell.top * size.y - height];
      this.aim(cell, all, size);
      renderer.setViewport(x, y, width, height);
      renderer.setScissor(x, y, width, height);
      const content = contents[at]!;
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

  showGrid(shown: boolean): void {
    if (this.grid) this.grid.visible = shown;
    this.invalidate();
  }

  private placeGrid(box: THREE.Box3, radius: number): void {
    if (this.grid) this.scene.remove(this.grid);
    const cell = 10 ** Math.floor(Math.log10(radius / 2));
    const cells = Math.min(200, 2 * Math.ceil((1.6 * radius) / cell));
    this.grid = new THREE.GridHelper(cells * cell, cells, shown(0x4a5059), shown(0x2e3238));
    this.grid.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), this.up);
    const center = box.getCenter(new THREE.Vector3());
    const below = box.min.clone().sub(center).dot(this.up);
    this.grid.position.copy(center).addScaledVector(this.up, below);
    this.scene.add(this.grid);
  }

  private resize(parent: HTMLElement): void {
    const { clientWidth: width, clientHeight: height } = parent;
    if (width === 0 || height === 0) return;
    this.renderer.setSize(width, height);
    this.invalidate();
  }
}
