// Materials from shaders of this page, with the light that all of them share.

import * as THREE from "three";
import { light } from "./studio";

export function raw(
  vertexShader: string,
  fragmentShader: string,
  uniforms: Record<string, THREE.IUniform>,
  defines: Record<string, string> = {},
): THREE.RawShaderMaterial {
  const all = { ...light, ...uniforms };
  return new THREE.RawShaderMaterial({
    glslVersion: THREE.GLSL3,
    vertexShader,
    fragmentShader,
    uniforms: all,
    defines,
  });
}

/** Lines of one colour. */
export function line(
  vertexShader: string,
  fragmentShader: string,
  color: number[],
  uniforms: Record<string, THREE.IUniform>,
): THREE.RawShaderMaterial {
  const lineColor = { value: new THREE.Vector4(...color) };
  const material = raw(vertexShader, fragmentShader, { ...uniforms, lineColor });
  material.transparent = true;
  material.depthWrite = false;
  return material;
}
