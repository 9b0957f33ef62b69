// Materials of the file as materials of the renderer.

import * as THREE from "three";
import type { MaterialInfo, TextureInfo, Textures } from "./layout";
import { raw } from "./raw";
import { lightDefines, type Quality } from "./shadow";
import { WHITE } from "./studio";
import { SURFACE_FRAGMENT, SURFACE_VERTEX, type SurfaceName, SURFACES } from "./surface";

/** Material of surfaces without one: not metallic, moderately rough. */
const PLAIN: MaterialInfo = {
  name: "",
  base_color: [0.8, 0.8, 0.8, 1],
  metallic: 0,
  roughness: 0.7,
  emissive: [0, 0, 0],
  base_color_texture: null,
  metallic_roughness_texture: null,
  normal_texture: null,
  occlusion_texture: null,
  emissive_texture: null,
  cutoff: null,
  is_blended: false,
};

/** Texture, its define and its uniform. */
const MAPS: [keyof MaterialInfo, string, string][] = [
  ["base_color_texture", "BASE", "baseMap"],
  ["normal_texture", "NORMAL", "normalMap"],
  ["metallic_roughness_texture", "ROUGHNESS", "roughnessMap"],
  ["occlusion_texture", "OCCLUSION", "occlusionMap"],
  ["emissive_texture", "EMISSIVE", "emissiveMap"],
];

export interface MaterialOptions {
  /** Drawing without a heat map; `null` draws a heat map. */
  kind: SurfaceName | null;
  quality: Quality;
  /** True with a layout. */
  split: boolean;
  /** True with colours of vertices. */
  colors: boolean;
  textures: Textures | null;
  /** Called for each texture. */
  arrived: () => void;
}

/** Creates the material `info` with the uniforms `shared` of its figure. */
export function fileMaterial(
  info: MaterialInfo = PLAIN,
  shared: Record<string, THREE.IUniform>,
  options: MaterialOptions,
): THREE.RawShaderMaterial {
  const uniforms: Record<string, THREE.IUniform> = {
    baseColor: { value: new THREE.Vector4(...info.base_color) },
    emissive: { value: new THREE.Vector3(...info.emissive) },
    metallic: { value: info.metallic },
    roughness: { value: info.roughness },
    cutoff: { value: info.cutoff ?? (info.is_blended ? 0.004 : -1) },
    normalScale: { value: info.normal_texture?.factor ?? 1 },
    occlusionStrength: { value: info.occlusion_texture?.factor ?? 1 },
  };
  const { kind } = options;
  const isFull = options.split && kind === "material";
  const defines = lightDefines(options.quality);
  defines["KIND"] = String(kind ? SURFACES.indexOf(kind) : 0);
  if (!kind) defines["HEAT"] = "";
  if (options.split) defines["SPLIT"] = "";
  if (isFull && options.colors) defines["COLORS"] = "";
  // A shader that can discard pixels is slower for all of them.
  if (isFull && (info.cutoff !== null || info.is_blended)) defines["CUTOFF"] = "";
  const material = raw(SURFACE_VERTEX, SURFACE_FRAGMENT, { ...shared, ...uniforms }, defines);
  material.side = THREE.DoubleSide;
  // Blended surfaces keep their depth, so that the order of their triangles matters less.
  material.transparent = isFull && info.is_blended;
  for (const [key, name, uniform] of isFull ? MAPS : []) {
    const texture = info[key] as TextureInfo | null;
    if (!texture || !options.textures) continue;
    defines["MAPPED"] = "";
    defines[`${name}_MAP`] = "";
    defines[`${name}_UV`] = texture.uv_set === 0 ? "texturePlace.xy" : "texturePlace.zw";
    material.uniforms[uniform] = { value: WHITE };
    options.textures.load(texture).then(
      (loaded) => {
        material.uniforms[uniform]!.value = loaded;
        options.arrived();
      },
      // A damaged image leaves the factors of the material.
      (error: Error) => console.warn(`texture of ${info.name || "a material"}: ${error.message}`),
    );
  }
  return material;
}
