// Studio light: an environment image that is generated here, its irradiance and its reflections by roughness.
//
// The irradiance is the projection on spherical harmonics up to degree 2 (Ramamoorthi and Hanrahan 2001); reflections
// are the image convolved with wider and wider cosine lobes, one per mip level. The image is an octahedral map: a
// direction is found without trigonometric functions.

import * as THREE from "three";

/** Width of the environment image and number of its mip levels. */
const SIZE = 32;
const LEVELS = 4;
/** Exponents of the cosine lobes of the mip levels; the first level is the image itself. */
const LOBES = [Infinity, 60, 14, 4];

type Color = [number, number, number];

interface Box {
  toward: Color;
  /** Half angles across and along, in radians. */
  size: [number, number];
  color: Color;
}

/** Soft boxes: one above, a cool one on the right, and two strips behind the object for its outline. */
const BOXES: Box[] = [
  { toward: [-0.45, 0.8, 0.55], size: [0.5, 0.4], color: [1.5, 1.43, 1.33] },
  { toward: [0.95, 0.25, 0.35], size: [0.32, 0.6], color: [0.8, 0.95, 1.15] },
  { toward: [-0.75, 0.3, -0.75], size: [0.2, 0.75], color: [2.4, 2.35, 2.3] },
  { toward: [0.65, 0.45, -0.8], size: [0.22, 0.65], color: [1.7, 1.85, 2.1] },
];

const smooth = (low: number, high: number, x: number): number => {
  const t = Math.min(Math.max((x - low) / (high - low), 0), 1);
  return t * t * (3 - 2 * t);
};

/** Radiance from a direction; the second coordinate points up. */
function radiance([x, y, z]: Color): Color {
  const sky = smooth(-0.25, 0.75, y);
  const sum: Color = [0.1 + 0.2 * sky, 0.1 + 0.22 * sky, 0.105 + 0.26 * sky];
  for (const { toward, size, color } of BOXES) {
    const length = Math.hypot(...toward);
    const [a, b, c] = toward.map((part) => part / length) as Color;
    const along = x * a + y * b + z * c;
    if (along <= 0) continue;
    // Coordinates in the plane of the box, whose horizontal axis is level.
    const level = Math.hypot(a, c) || 1;
    const across = (x * c - z * a) / level;
    const up = (y - b * along) / Math.max(Math.sqrt(1 - b * b), 1e-6);
    const inside =
      smooth(size[0] * 1.25, size[0] * 0.75, Math.abs(across) / along) *
      smooth(size[1] * 1.25, size[1] * 0.75, Math.abs(up) / along);
    for (let k = 0; k < 3; k++) sum[k]! += inside * color[k]!;
  }
  return sum;
}

/** Direction of a texel of an octahedral map of `size` × `size` texels; the upper half is in the middle. */
function direction(column: number, row: number, size: number): Color {
  let [x, z] = [((column + 0.5) / size) * 2 - 1, ((row + 0.5) / size) * 2 - 1];
  const y = 1 - Math.abs(x) - Math.abs(z);
  if (y < 0) [x, z] = [(1 - Math.abs(z)) * Math.sign(x || 1), (1 - Math.abs(x)) * Math.sign(z || 1)];
  const length = Math.hypot(x, y, z);
  return [x / length, y / length, z / length];
}

interface Texel {
  toward: Color;
  color: Color;
  solidAngle: number;
}

function environment(size: number): Texel[] {
  return Array.from({ length: size * size }, (_, at) => {
    const toward = direction(at % size, Math.floor(at / size), size);
    // A texel of the octahedron covers a solid angle in proportion to the cube of its nearness.
    const manhattan = Math.abs(toward[0]) + Math.abs(toward[1]) + Math.abs(toward[2]);
    return { toward, color: radiance(toward), solidAngle: manhattan ** 3 };
  });
}

/** Basis of the spherical harmonics up to degree 2. */
function basis([x, y, z]: Color): number[] {
  return [1, y, z, x, x * y, y * z, 3 * z * z - 1, x * z, x * x - y * y];
}

/** Squared norms of the basis over the sphere, and the factors of the cosine convolution divided by π. */
const NORMS = [1, 1 / 3, 1 / 3, 1 / 3, 1 / 15, 1 / 15, 4 / 5, 1 / 15, 4 / 15];
const COSINE = [1, 2 / 3, 2 / 3, 2 / 3, 1 / 4, 1 / 4, 1 / 4, 1 / 4, 1 / 4];

/** Coefficients of the irradiance, divided by π, so that a white diffuse surface has that radiance. */
function irradiance(texels: Texel[]): THREE.Vector3[] {
  const total = texels.reduce((sum, texel) => sum + texel.solidAngle, 0);
  const sums = NORMS.map(() => new THREE.Vector3());
  for (const { toward, color, solidAngle } of texels) {
    basis(toward).forEach((value, at) => {
      const factor = ((value * solidAngle) / total / NORMS[at]!) * COSINE[at]!;
      sums[at]!.add(new THREE.Vector3(...color).multiplyScalar(factor));
    });
  }
  return sums;
}

/** Reflections for one roughness as half floats. */
function level(texels: Texel[], size: number, exponent: number): Uint16Array<ArrayBuffer> {
  const data = new Uint16Array(4 * size * size);
  for (let at = 0; at < size * size; at++) {
    const [x, y, z] = direction(at % size, Math.floor(at / size), size);
    let weights = exponent === Infinity ? 1 : 0;
    const sum: Color = exponent === Infinity ? radiance([x, y, z]) : [0, 0, 0];
    for (const { toward, color, solidAngle } of exponent === Infinity ? [] : texels) {
      const cosine = x * toward[0] + y * toward[1] + z * toward[2];
      if (cosine <= 0) continue;
      const weight = cosine ** exponent * solidAngle;
      weights += weight;
      for (let k = 0; k < 3; k++) sum[k]! += weight * color[k]!;
    }
    for (let k = 0; k < 3; k++) data[4 * at + k] = THREE.DataUtils.toHalfFloat(sum[k]! / Math.max(weights, 1e-9));
    data[4 * at + 3] = THREE.DataUtils.toHalfFloat(1);
  }
  return data;
}

function reflections(texels: Texel[]): THREE.DataTexture {
  const mipmaps = LOBES.map((exponent, at) => {
    const size = SIZE >> at;
    return { data: level(texels, size, exponent), width: size, height: size };
  });
  const texture = new THREE.DataTexture(mipmaps[0]!.data, SIZE, SIZE, THREE.RGBAFormat, THREE.HalfFloatType);
  // The smallest level repeats down to one texel, since a texture needs all of its levels.
  for (let size = SIZE >> LEVELS; size >= 1; size >>= 1) {
    mipmaps.push({ data: level(texels, size, LOBES.at(-1)!), width: size, height: size });
  }
  texture.mipmaps = mipmaps;
  texture.generateMipmaps = false;
  texture.magFilter = THREE.LinearFilter;
  texture.minFilter = THREE.LinearMipmapLinearFilter;
  texture.needsUpdate = true;
  return texture;
}

/** Shaded ball that a matcap looks up by the normal seen from the camera: grey wax with a bright outline. */
function matcap(): THREE.DataTexture {
  const size = 128;
  const data = new Uint8Array(4 * size * size);
  for (let at = 0; at < size * size; at++) {
    let [x, y] = [((at % size) / (size - 1)) * 2 - 1, (Math.floor(at / size) / (size - 1)) * 2 - 1];
    const radius = Math.hypot(x, y);
    if (radius > 0.995) [x, y] = [(0.995 * x) / radius, (0.995 * y) / radius];
    const z = Math.sqrt(1 - x * x - y * y);
    const key = Math.max(0, -0.45 * x + 0.65 * y + 0.61 * z);
    const fill = Math.max(0, 0.8 * x + 0.1 * y + 0.59 * z);
    const rim = (1 - z) ** 3;
    const gloss = Math.max(0, -0.26 * x + 0.38 * y + 0.89 * z) ** 60;
    const warm = [0.62, 0.36, 0.27];
    for (let k = 0; k < 3; k++) {
      const light = 0.14 + 0.9 * key + 0.22 * fill * [0.7, 0.85, 1.1][k]!;
      const value = warm[k]! * light + 0.28 * rim * [0.8, 0.9, 1.1][k]! + 0.55 * gloss;
      data[4 * at + k] = Math.round(255 * Math.min(value, 1) ** (1 / 2.2));
    }
    data[4 * at + 3] = 255;
  }
  const texture = new THREE.DataTexture(data, size, size);
  texture.minFilter = texture.magFilter = THREE.LinearFilter;
  texture.needsUpdate = true;
  return texture;
}

/** Key light: direction in the studio, whose second coordinate points up, and its colour. */
const KEY = new THREE.Vector3(-0.45, 1, 0.55).normalize();
const KEY_COLOR = new THREE.Vector3(1.0, 0.955, 0.89);

/** White texel for textures that are absent. */
export const WHITE = ((): THREE.DataTexture => {
  const texture = new THREE.DataTexture(new Uint8Array([255, 255, 255, 255]), 1, 1);
  texture.needsUpdate = true;
  return texture;
})();

function made(): Record<string, THREE.IUniform> {
  const texels = environment(SIZE);
  return {
    studio: { value: reflections(texels) },
    irradiance: { value: irradiance(texels) },
    matcap: { value: matcap() },
    toStudio: { value: new THREE.Matrix3() },
    keyDirection: { value: KEY.clone() },
    keyColor: { value: KEY_COLOR },
    shadowMap: { value: null },
    shadowMatrix: { value: new THREE.Matrix4() },
    /** Width of the blurred edge of a shadow in texels. */
    shadowBlur: { value: 0 },
    shadowBias: { value: 0 },
  };
}

/** Uniforms of the light, shared by all materials. */
export const light = made();

/** Turns the studio so that its vertical axis is `up`. */
export function orient(up: THREE.Vector3): void {
  const turn = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 1, 0), up);
  const back = new THREE.Matrix4().makeRotationFromQuaternion(turn.clone().invert());
  light["toStudio"]!.value.setFromMatrix4(back);
  light["keyDirection"]!.value.copy(KEY).applyQuaternion(turn);
}

/**
 * Declarations and functions of the light for fragment shaders, in world coordinates. TAPS is the number of lookups in
 * the shadow map, SHARP adds reflections: branches would cost time on processors that draw.
 */
export const LIGHT = `
precision highp sampler2DShadow;
#ifdef SHARP
uniform sampler2D studio;
#endif
#ifdef TAPS
uniform sampler2DShadow shadowMap;
#endif
uniform vec3 irradiance[9];
uniform mat3 toStudio;
uniform vec3 keyDirection, keyColor;
uniform mat4 shadowMatrix;
uniform float shadowBlur, shadowBias;

vec3 ambient(vec3 n) {
  vec3 d = toStudio * n;
  return max(irradiance[0] + irradiance[1] * d.y + irradiance[2] * d.z + irradiance[3] * d.x + irradiance[4] * (d.x * d.y)
    + irradiance[5] * (d.y * d.z) + irradiance[6] * (3.0 * d.z * d.z - 1.0) + irradiance[7] * (d.x * d.z)
    + irradiance[8] * (d.x * d.x - d.y * d.y), vec3(0.0));
}

/** Reflection of the studio; without SHARP it is approximated by the irradiance, which is faster. */
vec3 reflection(vec3 r, float roughness) {
#ifdef SHARP
  vec3 d = toStudio * r;
  vec2 p = d.xz / (abs(d.x) + abs(d.y) + abs(d.z));
  if (d.y < 0.0) p = (1.0 - abs(p.yx)) * vec2(p.x < 0.0 ? -1.0 : 1.0, p.y < 0.0 ? -1.0 : 1.0);
  return textureLod(studio, 0.5 + 0.5 * p, roughness * ${(LEVELS - 1).toFixed(1)}).rgb;
#else
  return ambient(r);
#endif
}

/** Fraction of the key light that arrives at a point; each lookup is filtered over four texels. */
float keyVisibility(vec3 p, vec3 n) {
#ifdef TAPS
  vec3 q = (shadowMatrix * vec4(p + n * shadowBias, 1.0)).xyz;
  if (q.z >= 1.0 || any(lessThan(q.xy, vec2(0.0))) || any(greaterThan(q.xy, vec2(1.0)))) return 1.0;
  float sum = texture(shadowMap, q);
#if TAPS >= 5
  vec2 texel = shadowBlur / vec2(textureSize(shadowMap, 0));
  sum += texture(shadowMap, vec3(q.xy + texel * vec2(0.9, 0.35), q.z)) + texture(shadowMap, vec3(q.xy + texel * vec2(-0.35, 0.9), q.z))
    + texture(shadowMap, vec3(q.xy + texel * vec2(-0.9, -0.35), q.z)) + texture(shadowMap, vec3(q.xy + texel * vec2(0.35, -0.9), q.z));
#endif
#if TAPS >= 9
  sum += texture(shadowMap, vec3(q.xy + 0.5 * texel * vec2(0.7, -0.7), q.z)) + texture(shadowMap, vec3(q.xy + 0.5 * texel * vec2(0.7, 0.7), q.z))
    + texture(shadowMap, vec3(q.xy + 0.5 * texel * vec2(-0.7, 0.7), q.z)) + texture(shadowMap, vec3(q.xy + 0.5 * texel * vec2(-0.7, -0.7), q.z));
#endif
  return sum / float(TAPS);
#else
  return 1.0;
#endif
}

/** Tone mapping: exact up to a knee, so that colours of materials are kept, with a hyperbolic shoulder above it. */
vec3 toneMapped(vec3 c) {
  const float knee = 0.62;
  vec3 over = max(c - knee, 0.0);
  return min(c, knee) + (1.0 - knee) * over / (over + (1.0 - knee));
}

vec3 encoded(vec3 c) { return pow(toneMapped(c), vec3(1.0 / 2.2)); }

/** Radiance of a surface, metallic–roughness model; n faces the viewer, v points to it. */
vec3 lit(vec3 albedo, float metallic, float roughness, vec3 n, vec3 v, vec3 p, float occlusion) {
  float facing = max(dot(n, keyDirection), 0.0);
  float key = facing > 0.0 ? facing * keyVisibility(p, n) : 0.0;
  float nv = max(dot(n, v), 0.0);
  vec3 f0 = mix(vec3(0.04), albedo, metallic);
  float grazing = (1.0 - nv) * (1.0 - nv);
  vec3 fresnel = f0 + (max(vec3(1.0 - roughness), f0) - f0) * (grazing * grazing * (1.0 - nv));
  vec3 diffuse = albedo * (1.0 - metallic) * (occlusion * ambient(n) + key * keyColor);
  float sharp = 2.0 / max(roughness * roughness * roughness * roughness, 0.0005);
  float nh = max(dot(n, normalize(v + keyDirection)), 0.0);
  vec3 gloss = key > 0.0 ? fresnel * min(0.06 * (sharp + 4.0), 12.0) * pow(nh, sharp) * key : vec3(0.0);
  return diffuse + occlusion * fresnel * reflection(reflect(-v, n), roughness) + gloss * keyColor;
}
`;
