// Poses a model on the GPU: positions and normals of one frame, in textures that all drawables read.

import * as THREE from "three";
import { centerOf, type Model } from "./model";
import { FULL_SCREEN, NORMAL_PASS, POSE_PASS } from "./shaders";
import { SPLIT_NORMAL_PASS } from "./surface";
import { padded, rowsFor, Store, WIDTH } from "./store";

export type Kind = "rest" | "recorded" | "skin" | "live";

const KINDS: Record<Kind, number> = { rest: 0, recorded: 1, skin: 2, live: 1 };

let posers = 0;

export class Poser {
  readonly id = posers++;
  private readonly positionTarget: THREE.WebGLRenderTarget;
  private readonly normalTarget: THREE.WebGLRenderTarget;
  private readonly posePass: THREE.RawShaderMaterial;
  private readonly normalPass: THREE.RawShaderMaterial;
  /** Normals of vertices with sharp edges, and their pass. */
  private split: { target: THREE.WebGLRenderTarget; pass: THREE.RawShaderMaterial } | null = null;
  private key = "";
  private readBack: { key: string; positions: Float32Array<ArrayBuffer> } | null = null;
  private liveStore: Store | null = null;
  private liveVersion = 0;
  /** Centre of the positions received last. */
  liveCenter: THREE.Vector3 | null = null;

  constructor(
    readonly model: Model,
    readonly kind: Kind,
  ) {
    this.positionTarget = floatTarget(model.pointRows);
    this.normalTarget = floatTarget(model.pointRows);
    this.posePass = pass(POSE_PASS, {
      ...poseUniforms(),
      occlusions: { value: model.occlusion.texture },
      pointCount: { value: model.pointCount },
      frame: { value: 0 },
    });
    this.normalPass = pass(NORMAL_PASS, {
      positions: { value: this.positionTarget.texture },
      rings: { value: model.rings.texture },
      ringStarts: { value: model.ringStarts.texture },
      pointCount: { value: model.pointCount },
    });
  }

  get positions(): THREE.Texture {
    return this.positionTarget.texture;
  }

  get normals(): THREE.Texture {
    return this.normalTarget.texture;
  }

  /** Identifies the last frame of a live deformer. */
  get version(): string {
    return String(this.liveVersion);
  }

  /** Normals by the entries of the layout. */
  get cornerNormals(): THREE.Texture {
    return (this.split?.target ?? this.normalTarget).texture;
  }

  /** Identifies the current pose. */
  get poseKey(): string {
    return this.key;
  }

  /** Computes the normals of sharp edges too, if the layout has some. */
  useLayout(): void {
    const { layout } = this.model.surface;
    if (!layout?.rings || this.split) return;
    this.split = {
      target: floatTarget(rowsFor(layout.normalCount)),
      pass: pass(SPLIT_NORMAL_PASS, {
        positions: { value: this.positionTarget.texture },
        rings: { value: layout.rings.texture },
        ringStarts: { value: layout.ringStarts!.texture },
        normalPoints: { value: layout.normalPoints!.texture },
        normalCount: { value: layout.normalCount },
      }),
    };
    this.key = "";
  }

  /** Poses `frame` with the first `rank` corrections, unless the textures are up to date. */
  pose(renderer: THREE.WebGLRenderer, frame: number, rank: number): void {
    const { model } = this;
    const available = this.kind === "recorded" ? Math.min(frame, model.recordedFrames - 1) : frame;
    const at = this.kind === "live" ? 0 : Math.max(available, 0);
    const key = `${at} ${rank} ${model.restVersion} ${model.clip} ${this.liveVersion} ${Math.sign(model.recordedFrames)} ${model.occlusion.done}`;
    if (key === this.key) return;
    this.key = key;
    this.posePass.uniforms["frame"]!.value = at;
    setPoseUniforms(this.posePass.uniforms, model, this.ready(), rank, this.liveStore);
    draw(renderer, this.posePass, this.positionTarget);
    draw(renderer, this.normalPass, this.normalTarget);
    if (this.split) draw(renderer, this.split.pass, this.split.target);
  }

  /** Reads the posed positions, four floats per point. */
  read(renderer: THREE.WebGLRenderer): Float32Array<ArrayBuffer> {
    if (this.readBack?.key === this.key) return this.readBack.positions;
    const positions = new Float32Array(4 * WIDTH * this.model.pointRows);
    renderer.readRenderTargetPixels(this.positionTarget, 0, 0, WIDTH, this.model.pointRows, positions);
    for (let at = 3; at < positions.length; at += 4) positions[at] = 1;
    this.readBack = { key: this.key, positions };
    return positions;
  }

  /** Reads the normals of the posed surface, four floats per point. */
  readNormals(renderer: THREE.WebGLRenderer): Float32Array<ArrayBuffer> {
    const normals = new Float32Array(4 * WIDTH * this.model.pointRows);
    renderer.readRenderTargetPixels(this.normalTarget, 0, 0, WIDTH, this.model.pointRows, normals);
    return normals;
  }

  /** Reads one posed point. */
  readPoint(renderer: THREE.WebGLRenderer, point: number): number[] {
    if (this.readBack?.key === this.key) return [...this.readBack.positions.subarray(4 * point, 4 * point + 3)];
    const texel = new Float32Array(4);
    renderer.readRenderTargetPixels(this.positionTarget, point % WIDTH, Math.floor(point / WIDTH), 1, 1, texel);
    return [...texel.subarray(0, 3)];
  }

  /** Receives positions of a live deformer. */
  receive(renderer: THREE.WebGLRenderer, positions: Float32Array): void {
    this.liveStore ??= new Store(this.model.pointCount, 4);
    this.liveStore.write(renderer, 0, padded(positions, 3, 4, this.model.pointRows));
    this.liveVersion++;
    this.liveCenter = centerOf(positions, 3);
  }

  dispose(): void {
    this.positionTarget.dispose();
    this.normalTarget.dispose();
    this.posePass.dispose();
    this.normalPass.dispose();
    this.split?.target.dispose();
    this.split?.pass.dispose();
    this.liveStore?.dispose();
  }

  /** Kind of posing that is possible with the data loaded so far. */
  private ready(): Kind {
    if (this.kind === "recorded" && this.model.recordedFrames === 0) return "rest";
    if (this.kind === "live" && this.liveVersion === 0) return "rest";
    return this.kind;
  }
}

export function poseUniforms(): Record<string, THREE.IUniform> {
  const names = ["kind", "pointRows", "slots", "bones", "rank", "shapeCount"];
  const textures = ["rest", "recorded", "influences", "palette", "shapes", "coefficients"];
  return Object.fromEntries([...names.map((n) => [n, { value: 0 }]), ...textures.map((n) => [n, { value: null }])]);
}

export function setPoseUniforms(
  uniforms: Record<string, THREE.IUniform>,
  model: Model,
  kind: Kind,
  rank: number,
  live: Store | null = null,
): void {
  const recorded = kind === "live" ? live : model.recordedStore;
  const values: Record<string, unknown> = {
    kind: KINDS[kind],
    pointRows: model.pointRows,
    slots: model.slots,
    bones: model.info.bones.length,
    rank: Math.min(rank, model.info.rank),
    shapeCount: model.info.rank,
    rest: model.restStore.texture,
    recorded: (recorded ?? model.restStore).texture,
    influences: model.influenceStore.texture,
    palette: model.paletteStore.texture,
    shapes: model.shapeStore.texture,
    coefficients: model.coefficientStore.texture,
  };
  for (const [name, value] of Object.entries(values)) uniforms[name]!.value = value;
}

function floatTarget(rows: number): THREE.WebGLRenderTarget {
  return new THREE.WebGLRenderTarget(WIDTH, rows, {
    type: THREE.FloatType,
    format: THREE.RGBAFormat,
    minFilter: THREE.NearestFilter,
    magFilter: THREE.NearestFilter,
    depthBuffer: false,
    generateMipmaps: false,
  });
}

export function pass(fragmentShader: string, uniforms: Record<string, THREE.IUniform>): THREE.RawShaderMaterial {
  return new THREE.RawShaderMaterial({
    glslVersion: THREE.GLSL3,
    vertexShader: FULL_SCREEN,
    fragmentShader,
    uniforms,
    depthTest: false,
    depthWrite: false,
    blending: THREE.NoBlending,
  });
}

const triangle = new THREE.BufferGeometry().setIndex([0, 1, 2]);
const screen = new THREE.Mesh(triangle);
screen.frustumCulled = false;
const camera = new THREE.Camera();

export function draw(renderer: THREE.WebGLRenderer, material: THREE.Material, target: THREE.WebGLRenderTarget): void {
  const before = renderer.getRenderTarget();
  screen.material = material;
  renderer.setRenderTarget(target);
  renderer.render(screen, camera);
  renderer.setRenderTarget(before);
}
