// A crowd: many instances of one asset on the ground, each in its own phase, skinned by the GPU.
//
// For comparison the same crowd can be drawn as engines without skinning would: every vertex of every instance sent
// anew in every frame.

import * as THREE from "three";
import { raw } from "../gpu/figure";
import { Model } from "../gpu/model";
import { poseUniforms, setPoseUniforms } from "../gpu/poser";
import { CROWD_FRAGMENT, CROWD_VERTEX, UPLOADED_VERTEX } from "../gpu/shaders";
import { framesOf, type View, type Viewer } from "../viewer";

/** Instances further away than this many diagonals use the next coarser level. */
const LEVEL_DISTANCE = 9;
/** Bones alone carry a crowd; more corrections than this are not worth their cost at a distance. */
const MOST_RANK = 4;

interface Instance {
  place: THREE.Vector3;
  phase: number;
  color: THREE.Color;
}

interface Level {
  model: Model;
  mesh: THREE.Mesh<THREE.InstancedBufferGeometry, THREE.RawShaderMaterial>;
}

export interface CrowdStats {
  instances: number;
  triangles: number;
  /** Instances by level of detail, the finest first. */
  levels: number[];
}

export class Crowd {
  readonly group = new THREE.Group();
  private readonly instances: Instance[];
  private levels: Level[] = [];
  private uploaded: THREE.Mesh<THREE.BufferGeometry, THREE.RawShaderMaterial>[] = [];
  private baked: Float32Array<ArrayBuffer>[] = [];
  private assigned = "";
  uploads = false;

  private constructor(
    private readonly viewer: Viewer,
    readonly view: View,
    count: number,
  ) {
    this.instances = placed(view, count, viewer.stage.upVector());
  }

  static async create(viewer: Viewer, view: View, count: number): Promise<Crowd> {
    const crowd = new Crowd(viewer, view, count);
    const { info } = view.model;
    const coarser =
      view.tag === "original"
        ? []
        : info.lods.map((_, at) => Model.load(viewer.source, info, viewer.stage.maxRows, at + 1));
    for (const model of [view.model, ...(await Promise.all(coarser))]) crowd.addLevel(model);
    return crowd;
  }

  /** How far the crowd reaches, in sizes of one instance. */
  get reach(): number {
    return 1 + 0.42 * Math.sqrt(this.instances.length);
  }

  get stats(): CrowdStats {
    const levels = this.levels.map((level) => level.mesh.geometry.instanceCount);
    const triangles = this.levels.reduce((sum, level, at) => sum + levels[at]! * level.model.triangleCount, 0);
    const all = this.instances.length;
    return { instances: all, triangles: this.uploads ? all * this.view.model.triangleCount : triangles, levels };
  }

  /** Gets ready to draw `frame`. */
  prepare(frame: number): void {
    for (const level of this.levels) level.mesh.visible = !this.uploads;
    for (const mesh of this.uploaded) mesh.visible = this.uploads;
    if (this.uploads) this.upload(frame);
    else this.assign(frame);
  }

  dispose(): void {
    for (const { mesh } of this.levels) {
      mesh.geometry.dispose();
      mesh.material.dispose();
    }
    for (const mesh of this.uploaded) mesh.geometry.dispose();
  }

  private addLevel(model: Model): void {
    const geometry = new THREE.InstancedBufferGeometry().setIndex(model.index) as THREE.InstancedBufferGeometry;
    const attribute = (size: number): THREE.InstancedBufferAttribute =>
      new THREE.InstancedBufferAttribute(new Float32Array(size * this.instances.length), size);
    geometry.setAttribute("place", attribute(4));
    geometry.setAttribute("instanceColor", attribute(3));
    geometry.instanceCount = 0;
    const frames = framesOf(this.view);
    const material = raw(CROWD_VERTEX, CROWD_FRAGMENT, {
      ...poseUniforms(),
      restNormals: { value: model.restNormalStore().texture },
      frame: { value: 0 },
      frameCount: { value: frames },
    });
    material.side = THREE.DoubleSide;
    const mesh = new THREE.Mesh(geometry, material);
    mesh.frustumCulled = false;
    this.group.add(mesh);
    this.levels.push({ model, mesh });
  }

  private assign(frame: number): void {
    const kind = this.view.figure.poser.kind;
    const rank = Math.min(this.viewer.rankOf(this.view), MOST_RANK);
    for (const { model, mesh } of this.levels) {
      setPoseUniforms(mesh.material.uniforms, model, kind, rank);
      mesh.material.uniforms["restNormals"]!.value = model.restNormalStore().texture;
      mesh.material.uniforms["frame"]!.value = frame;
    }
    const { camera } = this.viewer.stage;
    const diagonal = this.view.model.info.diagonal;
    const levelOf = ({ place }: Instance): number => {
      const away = camera.position.distanceTo(place) / diagonal;
      return Math.min(Math.floor(away / LEVEL_DISTANCE), this.levels.length - 1);
    };
    const wanted = this.instances.map(levelOf);
    const key = wanted.join();
    // Where everybody stands and what they are drawn with changes only when the camera has moved far enough.
    if (key === this.assigned) return;
    this.assigned = key;
    this.levels.forEach((level, at) =>
      fill(
        level,
        this.instances.filter((_, i) => wanted[i] === at),
      ),
    );
  }

  private upload(frame: number): void {
    this.bake();
    const frames = this.baked.length;
    this.instances.forEach((instance, at) => {
      const mesh = (this.uploaded[at] ??= this.makeUploaded(instance));
      const attribute = mesh.geometry.getAttribute("position") as THREE.BufferAttribute;
      (attribute.array as Float32Array).set(this.baked[(frame + instance.phase) % frames]!);
      attribute.needsUpdate = true;
    });
  }

  private makeUploaded(instance: Instance): THREE.Mesh<THREE.BufferGeometry, THREE.RawShaderMaterial> {
    const { model } = this.view;
    const geometry = new THREE.BufferGeometry().setIndex(model.index);
    const positions = new THREE.BufferAttribute(new Float32Array(3 * model.pointCount), 3);
    positions.setUsage(THREE.StreamDrawUsage);
    geometry.setAttribute("position", positions);
    const uniforms = { place: { value: instance.place }, instanceColor: { value: instance.color } };
    const material = raw(UPLOADED_VERTEX, CROWD_FRAGMENT, uniforms);
    material.side = THREE.DoubleSide;
    const mesh = new THREE.Mesh(geometry, material);
    mesh.frustumCulled = false;
    this.group.add(mesh);
    return mesh;
  }

  /** The positions of every frame, as a player of vertex caches would have them in memory. */
  private bake(): void {
    if (this.baked.length > 0) return;
    const { poser } = this.view.figure;
    const { renderer } = this.viewer.stage;
    const points = this.view.model.pointCount;
    for (let frame = 0; frame < framesOf(this.view); frame++) {
      poser.pose(renderer, frame, this.viewer.rankOf(this.view));
      const read = poser.read(renderer);
      const positions = new Float32Array(3 * points);
      for (let i = 0; i < points; i++) positions.set(read.subarray(4 * i, 4 * i + 3), 3 * i);
      this.baked.push(positions);
    }
  }
}

/** Rows and columns on the ground, a little out of step and out of line. */
function placed(view: View, count: number, up: THREE.Vector3): Instance[] {
  const { low, high } = view.model.info;
  const size = new THREE.Vector3(...high).sub(new THREE.Vector3(...low));
  const turn = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 1, 0), up);
  const flat = size.clone().applyQuaternion(turn.clone().invert());
  const [wide, deep] = [1.15 * Math.abs(flat.x), 1.15 * Math.abs(flat.z)];
  const columns = Math.max(1, Math.round(Math.sqrt((count * deep) / wide)));
  const frames = framesOf(view);
  const random = generator(7);
  return Array.from({ length: count }, (_, at) => {
    const [column, row] = [at % columns, Math.floor(at / columns)];
    const rows = Math.ceil(count / columns);
    const x = (column - (columns - 1) / 2 + 0.16 * (random() - 0.5)) * wide;
    const z = (row - (rows - 1) / 2 + 0.16 * (random() - 0.5)) * deep;
    const place = new THREE.Vector3(x, 0, z).applyQuaternion(turn);
    const color = new THREE.Color().setHSL(0.06 + 0.05 * random(), 0.25 + 0.3 * random(), 0.42 + 0.25 * random());
    return { place, phase: Math.floor(random() * frames), color };
  });
}

function fill({ mesh }: Level, instances: Instance[]): void {
  const [places, colors] = ["place", "instanceColor"].map(
    (name) => mesh.geometry.getAttribute(name) as THREE.InstancedBufferAttribute,
  );
  instances.forEach(({ place, phase, color }, at) => {
    places!.setXYZW(at, place.x, place.y, place.z, phase);
    colors!.setXYZ(at, color.r, color.g, color.b);
  });
  places!.needsUpdate = colors!.needsUpdate = true;
  mesh.geometry.instanceCount = instances.length;
}

/** A small generator of the same numbers every time. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 0x100000000;
  };
}
