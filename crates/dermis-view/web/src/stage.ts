// The picture: one renderer, one camera for all columns, and a grid to stand on.

import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { countUploads, stats } from "./gpu/uploads";
import type { AssetInfo } from "./source";

/** Colours are given as they are to appear: the shaders, not the renderer, encode them. */
const shown = (hex: number): THREE.Color => new THREE.Color().setHex(hex, THREE.LinearSRGBColorSpace);
const BACKGROUND = shown(0x1d2025);
const UP: Record<AssetInfo["up"], [number, number, number]> = { x: [1, 0, 0], y: [0, 1, 0], z: [0, 0, 1] };

/** Degrees that the smaller side of a cell sees. */
const FIELD = 35;

/** A part of the picture, in shares of its width and height from the upper left. */
export interface Cell {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Where a number of views stand side by side: in rows that are filled from end to end. */
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
      throw new Error("This browser's WebGL cannot draw to float textures, which the viewer needs");
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

  /** Whether something has changed since the last picture. */
  takeWanted(): boolean {
    const wanted = this.wanted;
    this.wanted = false;
    return wanted;
  }

  /** Looks at all of `boxes`, from the front right and a little above. */
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

  /** Draws `contents` side by side, all seen by the same camera. */
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

  /** The ray through a place on the canvas, and which of `count` views it is in. */
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

  /** Turns the camera to one of `all` cells: things have the same size in each, and the narrowest sees all of them. */
  private aim(cell: Cell, all: Cell[], size: { x: number; y: number }): void {
    const { camera } = this;
    const aspect = ({ width, height }: Cell): number => (width * size.x) / (height * size.y);
    camera.aspect = aspect(cell);
    const half = Math.tan(THREE.MathUtils.degToRad(FIELD / 2)) / Math.min(...all.map(aspect), 1);
    camera.fov = 2 * THREE.MathUtils.radToDeg(Math.atan(half));
    camera.updateProjectionMatrix();
  }

  /** Waits until the picture is there: reading a pixel cannot be answered earlier. */
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
