// Backdrop and floor: a vertical gradient, and a plane with lines that receives shadows and fades with distance.

import * as THREE from "three";
import { raw } from "./raw";
import { HEAD } from "./shaders";
import { lightDefines, type Quality } from "./shadow";
import { LIGHT } from "./studio";

export interface Theme {
  top: [number, number, number];
  bottom: [number, number, number];
  /** Colour of lines and its opacity. */
  line: [number, number, number, number];
  /** Brightness of the floor relative to the gradient behind it, and the strength of shadows. */
  shadow: number;
}

const hex = (value: number): [number, number, number] => [
  (value >> 16) / 255,
  ((value >> 8) & 255) / 255,
  (value & 255) / 255,
];

export const THEMES: Record<"dark" | "light", Theme> = {
  dark: { top: hex(0x353b45), bottom: hex(0x17191d), line: [0.62, 0.68, 0.76, 0.16], shadow: 0.5 },
  light: { top: hex(0xf6f7f9), bottom: hex(0xc9cfd6), line: [0.2, 0.26, 0.34, 0.28], shadow: 0.42 },
};

/** Bands of the gradient; with more of them than levels of colour, they are not visible. */
const BANDS = 64;
/** Half the number of lines of the floor in each direction, and the lines between stronger ones. */
const LINES = 60;
const STRONG = 10;

const FLOOR_VERTEX = `${HEAD}
uniform mat4 modelMatrix, viewMatrix, projectionMatrix;
uniform float size;
in vec3 position;
in float strength;
out vec3 worldPosition;
out vec2 place;
out float weight;
void main() {
  vec4 world = modelMatrix * vec4(position * size, 1.0);
  worldPosition = world.xyz;
  place = position.xz;
  weight = strength;
  gl_Position = projectionMatrix * viewMatrix * world;
}`;

/** Lines fade towards the edge of the floor. */
const LINE_FRAGMENT = `${HEAD}
uniform vec4 line;
in vec2 place;
in float weight;
out vec4 color;
void main() {
  float fade = max(1.0 - length(place), 0.0);
  color = vec4(line.rgb, line.a * weight * fade * fade);
}`;

const SHADOW_FRAGMENT = `${HEAD}${LIGHT}
uniform float shadowStrength;
uniform vec3 up;
in vec3 worldPosition;
in vec2 place;
out vec4 color;
void main() {
  float away = length(place);
  if (away >= 1.0) discard;
  float fade = 1.0 - away * away;
  color = vec4(0.0, 0.0, 0.0, fade * shadowStrength * (1.0 - keyVisibility(worldPosition, up)));
}`;

export class Backdrop {
  readonly objects: THREE.Object3D[];
  private theme = THEMES.dark;
  private readonly lines: THREE.LineSegments<THREE.BufferGeometry, THREE.RawShaderMaterial>;
  private readonly receiver: THREE.Mesh<THREE.BufferGeometry, THREE.RawShaderMaterial>;

  constructor() {
    const floor = (fragment: string, uniforms: Record<string, THREE.IUniform>): THREE.RawShaderMaterial => {
      const material = raw(FLOOR_VERTEX, fragment, { ...uniforms, size: { value: 1 } });
      material.transparent = true;
      material.depthWrite = false;
      material.side = THREE.DoubleSide;
      return material;
    };
    this.lines = new THREE.LineSegments(grid(), floor(LINE_FRAGMENT, { line: { value: new THREE.Vector4() } }));
    const plane = new THREE.BufferGeometry();
    plane.setAttribute("position", new THREE.Float32BufferAttribute([-1, 0, -1, 1, 0, -1, 1, 0, 1, -1, 0, 1], 3));
    plane.setAttribute("strength", new THREE.Float32BufferAttribute([1, 1, 1, 1], 1));
    plane.setIndex([0, 2, 1, 0, 3, 2]);
    const uniforms = { shadowStrength: { value: 0.5 }, up: { value: new THREE.Vector3(0, 1, 0) } };
    this.receiver = new THREE.Mesh(plane, floor(SHADOW_FRAGMENT, uniforms));
    this.receiver.renderOrder = -2;
    this.lines.renderOrder = -1;
    this.objects = [this.receiver, this.lines];
    for (const object of this.objects) object.frustumCulled = false;
    this.setTheme(THEMES.dark);
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    (this.lines.material.uniforms["line"]!.value as THREE.Vector4).set(...theme.line);
    this.receiver.material.uniforms["shadowStrength"]!.value = theme.shadow;
  }

  /** Fills an area of the canvas with the gradient. */
  fill(renderer: THREE.WebGLRenderer, x: number, y: number, width: number, height: number): void {
    const { top, bottom } = this.theme;
    const color = new THREE.Color();
    for (let band = 0; band < BANDS; band++) {
      const t = (band + 0.5) / BANDS;
      const mixed = top.map((value, at) => bottom[at]! + (value - bottom[at]!) * t * t * (3 - 2 * t));
      color.setRGB(mixed[0]!, mixed[1]!, mixed[2]!, THREE.LinearSRGBColorSpace);
      // Rounded like the edges of other areas, so that each row of pixels is filled once.
      const [low, high] = [Math.round(y + (band * height) / BANDS), Math.round(y + ((band + 1) * height) / BANDS)];
      renderer.setScissor(x, low, width, high - low);
      renderer.setClearColor(color, 1);
      renderer.clear(true, false, false);
    }
  }

  /** Places the floor below a box. */
  place(box: THREE.Box3, up: THREE.Vector3, radius: number): void {
    const { lines, receiver } = this;
    const cell = 10 ** Math.floor(Math.log10(radius / 2));
    const center = box.getCenter(new THREE.Vector3());
    const height = box.min.clone().sub(center).dot(up);
    for (const part of [lines, receiver]) {
      part.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), up);
      part.position.copy(center).addScaledVector(up, height);
    }
    // Few wide cells or many small ones, whichever is nearer to three radii.
    lines.material.uniforms["size"]!.value = LINES * cell * (LINES * cell < 2.5 * radius ? 2 : 1);
    receiver.material.uniforms["size"]!.value = 2.4 * radius;
    (receiver.material.uniforms["up"]!.value as THREE.Vector3).copy(up);
  }

  /** Shows the floor, and shadows on it if there is a figure. */
  show(floor: boolean, figure: boolean, quality: Quality): void {
    this.lines.visible = floor;
    this.receiver.visible = floor && figure && quality !== "none";
    const { material } = this.receiver;
    const defines = lightDefines(quality);
    if (material.defines["TAPS"] === defines["TAPS"]) return;
    material.defines = defines;
    material.needsUpdate = true;
  }
}

/** Lines in both directions over the square from −1 to 1. */
function grid(): THREE.BufferGeometry {
  const [positions, strengths]: [number[], number[]] = [[], []];
  for (let at = -LINES; at <= LINES; at++) {
    const [x, strength] = [at / LINES, at % STRONG === 0 ? 1.6 : 0.8];
    const reach = Math.sqrt(1 - x * x);
    positions.push(x, 0, -reach, x, 0, reach, -reach, 0, x, reach, 0, x);
    strengths.push(strength, strength, strength, strength);
  }
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(positions, 3));
  geometry.setAttribute("strength", new THREE.Float32BufferAttribute(strengths, 1));
  return geometry;
}
