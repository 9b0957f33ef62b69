// The picture: one renderer, one camera for all columns, and a grid to stand on.

import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { countUploads, stats } from "./gpu/uploads";
import type { AssetInfo } from "./source";

const BACKGROUND = new THREE.Color(0x1b1d21);
const UP: Record<AssetInfo["up"], [number, number, number]> = { x: [1, 0, 0], y: [0, 1, 0], z: [0, 0, 1] };

export interface Column {
  content: THREE.Object3D;
}

export class Stage {
  readonly renderer: THREE.WebGLRenderer;
  readonly camera = new THREE.PerspectiveCamera(35, 1, 0.01, 1000);
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

  /** Looks at all of `assets`, from the front right and a little above. */
  frame(assets: AssetInfo[], reach = 1): void {
    const box = new THREE.Box3();
    for (const { low, high } of assets) box.union(new THREE.Box3(new THREE.Vector3(...low), new THREE.Vector3(...high)));
    if (box.isEmpty()) box.expandByPoint(new THREE.Vector3()).expandByScalar(1);
    const center = box.getCenter(new THREE.Vector3());
    const radius = Math.max(box.getSize(new THREE.Vector3()).length() / 2, 1e-6) * reach;
    this.up.set(...UP[assets[0]?.up ?? "y"]);
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

  /** Draws the columns side by side, all seen by the same camera. */
  draw(columns: Column[]): void {
    const { renderer, camera } = this;
    const size = renderer.getSize(new THREE.Vector2());
    renderer.setScissorTest(true);
    const width = size.x / Math.max(columns.length, 1);
    camera.aspect = width / size.y;
    camera.updateProjectionMatrix();
    columns.forEach((column, at) => {
      renderer.setViewport(at * width, 0, width, size.y);
      renderer.setScissor(at * width, 0, width, size.y);
      renderer.clear();
      this.scene.add(column.content);
      renderer.render(this.scene, camera);
      this.scene.remove(column.content);
    });
    stats.draws++;
  }

  /** The ray through a place on the canvas, and which of `columns` columns it is in. */
  ray(event: { clientX: number; clientY: number }, columns: number): { ray: THREE.Ray; column: number } {
    const rect = this.canvas.getBoundingClientRect();
    const width = rect.width / columns;
    const x = event.clientX - rect.left;
    const column = Math.min(Math.max(Math.floor(x / width), 0), columns - 1);
    const at = new THREE.Vector2(
      ((x - column * width) / width) * 2 - 1,
      1 - ((event.clientY - rect.top) / rect.height) * 2,
    );
    const caster = new THREE.Raycaster();
    caster.setFromCamera(at, this.camera);
    return { ray: caster.ray, column };
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
    this.grid = new THREE.GridHelper(cells * cell, cells, 0x4a4f57, 0x2c2f35);
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
