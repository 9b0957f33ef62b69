// Colour maps of heat maps, and distinct colours of bones.
//
// Maps of values from 0 start with a light colour, so that small values look like an unmarked light surface. A
// logarithmic scale is part of the texture: the shader always looks colours up by the linear fraction of the range.

import * as THREE from "three";

/** Colour maps of values from 0 on. */
export const MAPS = ["fire", "ocean", "spectrum", "grey"] as const;
/** Colour maps of values of both signs. */
export const SIGNED_MAPS = ["blue to red", "purple to green"] as const;
export type MapName = (typeof MAPS)[number];
export type SignedMapName = (typeof SIGNED_MAPS)[number];

/** Colour map with its scale. */
export interface Ramp {
  map: MapName | SignedMapName;
  logarithmic: boolean;
}

export const DEFAULT_RAMP: Ramp = { map: "fire", logarithmic: false };

/** Powers of ten of a logarithmic scale; smaller values have the colour of 0. */
export const DECADES = 3;

type Color = [number, number, number];

/** sRGB stops at uniform distances. */
const STOPS: Record<MapName | SignedMapName, Color[]> = {
  fire: [
    [238, 234, 222],
    [250, 216, 120],
    [246, 160, 60],
    [226, 86, 44],
    [166, 26, 48],
    [92, 10, 52],
  ],
  ocean: [
    [236, 238, 226],
    [164, 216, 196],
    [76, 174, 190],
    [36, 116, 176],
    [32, 62, 138],
    [22, 22, 84],
  ],
  spectrum: [
    [226, 232, 240],
    [120, 186, 226],
    [64, 176, 140],
    [170, 204, 70],
    [248, 200, 50],
    [238, 116, 40],
    [186, 28, 44],
  ],
  grey: [
    [240, 240, 240],
    [24, 24, 24],
  ],
  "blue to red": [
    [24, 58, 150],
    [96, 150, 220],
    [236, 236, 232],
    [236, 140, 100],
    [172, 24, 40],
  ],
  "purple to green": [
    [84, 28, 116],
    [172, 134, 196],
    [238, 238, 234],
    [140, 200, 136],
    [16, 96, 52],
  ],
};

/** Colour at a fraction of the range of a ramp. */
export function rampColor({ map, logarithmic }: Ramp, fraction: number): Color {
  const stops = STOPS[map];
  const within = Math.min(Math.max(fraction, 0), 1);
  const signed = (SIGNED_MAPS as readonly string[]).includes(map);
  const at = (logarithmic ? logFraction(within, signed) : within) * (stops.length - 1);
  const [a, b] = [stops[Math.floor(at)]!, stops[Math.min(Math.floor(at) + 1, stops.length - 1)]!];
  const t = at - Math.floor(at);
  return [0, 1, 2].map((c) => a[c]! + (b[c]! - a[c]!) * t) as Color;
}

/** Fraction on a logarithmic scale; of values of both signs, in both directions from the centre. */
export function logFraction(fraction: number, signed: boolean): number {
  const size = signed ? Math.abs(2 * fraction - 1) : fraction;
  const log = size > 0 ? Math.max(0, 1 + Math.log10(size) / DECADES) : 0;
  return signed ? 0.5 + 0.5 * Math.sign(fraction - 0.5) * log : log;
}

const textures = new Map<string, THREE.DataTexture>();

/** Texture of a ramp, created on first use. */
export function rampTexture(ramp: Ramp): THREE.DataTexture {
  const key = `${ramp.map} ${ramp.logarithmic}`;
  let texture = textures.get(key);
  if (texture) return texture;
  // Small values of a logarithmic scale need a fine texture.
  const width = ramp.logarithmic ? 4096 : 256;
  const data = new Uint8Array(4 * width);
  for (let i = 0; i < width; i++) {
    // The shader keeps a margin of 0.002 at both ends.
    const fraction = ((i + 0.5) / width - 0.002) / 0.996;
    data.set([...rampColor(ramp, fraction).map(Math.round), 255], 4 * i);
  }
  texture = new THREE.DataTexture(data, width, 1);
  texture.minFilter = texture.magFilter = THREE.LinearFilter;
  texture.needsUpdate = true;
  textures.set(key, texture);
  return texture;
}

/** Linear colour of each bone: hues at golden-angle distances differ for any number of bones. */
export function boneColor(bone: number): [number, number, number] {
  const color = new THREE.Color().setHSL((bone * 0.618034) % 1, bone % 2 ? 0.85 : 0.62, bone % 3 === 1 ? 0.42 : 0.55);
  return [color.r, color.g, color.b];
}
