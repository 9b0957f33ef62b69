// Shaders of crowds: skinned instances, uploaded vertices, and pictures of distant instances.

import { HEAD, POSE, SHADE } from "./shaders";

/** Posed point and normal of the model in a frame; the normal is 0 if it is unknown. */
const POSED = `${POSE}
uniform sampler2D restNormals, liveNormals;
uniform int streamed;      // 1: positions and normals of the last frame that the server has sent
void posed(int point, int now, out vec3 p, out vec3 n) {
  n = vec3(0.0);
  if (kind == 2 && bones > 0) {
    vec4 x, y, z, shaped = vec4(correctedPoint(point, now), 1.0);
    blend(point, now, x, y, z);
    p = vec3(dot(x, shaped), dot(y, shaped), dot(z, shaped));
    n = texelFetch(restNormals, at(point), 0).xyz;
    n = vec3(dot(x.xyz, n), dot(y.xyz, n), dot(z.xyz, n));
  } else {
    p = posedPoint(point, now);
    if (streamed == 1) n = texelFetch(liveNormals, at(point), 0).xyz;
  }
}
`;

/** Each instance has its own phase and is skinned in the vertex shader. */
export const CROWD_VERTEX = `${HEAD}${POSED}
uniform mat4 modelViewMatrix, projectionMatrix;
uniform int frame, frameCount;
in vec4 offset;            // offset on the ground, and the phase in frames
in vec3 instanceColor;
out vec3 viewPosition, viewNormal, tint;
void main() {
  vec3 p, n;
  posed(gl_VertexID, (frame + int(offset.w)) % frameCount, p, n);
  vec4 view = modelViewMatrix * vec4(p + offset.xyz, 1.0);
  viewPosition = view.xyz;
  viewNormal = mat3(modelViewMatrix) * n;
  tint = instanceColor;
  gl_Position = projectionMatrix * view;
}`;

/** Vertices that are uploaded in every frame. */
export const UPLOADED_VERTEX = `${HEAD}
uniform mat4 modelViewMatrix, projectionMatrix;
uniform vec3 offset, instanceColor;
in vec3 position, normal;
out vec3 viewPosition, viewNormal, tint;
void main() {
  vec4 view = modelViewMatrix * vec4(position + offset, 1.0);
  viewPosition = view.xyz;
  viewNormal = mat3(modelViewMatrix) * normal;
  tint = instanceColor;
  gl_Position = projectionMatrix * view;
}`;

export const CROWD_FRAGMENT = `${HEAD}${SHADE}
in vec3 viewPosition, viewNormal, tint;
out vec4 color;
void main() {
  vec3 normal = viewNormal;
  if (dot(normal, normal) < 1e-20) normal = cross(dFdx(viewPosition), dFdy(viewPosition));
  color = vec4(shade(tint, normalize(normal), normalize(-viewPosition)), 1.0);
}`;

/** Picture of the model in one frame, seen from a direction: normals in the axes of the scene. */
export const PICTURE_VERTEX = `${HEAD}${POSED}
uniform vec3 center, right, up, towards;
uniform float radius;
uniform int frame;
out vec3 scenePosition, sceneNormal;
void main() {
  vec3 p, n;
  posed(gl_VertexID, frame, p, n);
  scenePosition = p;
  sceneNormal = n;
  vec3 d = (p - center) / radius;
  gl_Position = vec4(dot(d, right), dot(d, up), -0.5 * dot(d, towards), 1.0);
}`;

export const PICTURE_FRAGMENT = `${HEAD}
uniform vec3 towards;
in vec3 scenePosition, sceneNormal;
out vec4 color;
void main() {
  vec3 normal = sceneNormal;
  if (dot(normal, normal) < 1e-20) normal = cross(dFdx(scenePosition), dFdy(scenePosition));
  normal = normalize(normal);
  if (dot(normal, towards) < 0.0) normal = -normal;
  color = vec4(0.5 + 0.5 * normal, 1.0);
}`;

/** Distant instance: a square with the picture of the model from the nearest direction, in its own phase. */
export const IMPOSTOR_VERTEX = `${HEAD}
uniform mat4 modelViewMatrix, projectionMatrix;
uniform mat3 ground;       // axes of the ground: y is up
uniform vec3 center;
uniform float radius;
uniform int frame, frameCount, phases;
uniform vec2 tile;         // size of a picture, as a fraction of the texture
in vec4 offset;
in vec3 instanceColor;
in vec3 seen;              // azimuth, elevation and row of the pictures
out vec3 viewPosition, tint;
out vec2 place;
void main() {
  vec2 corner = vec2(gl_VertexID == 1 || gl_VertexID == 2 ? 1.0 : -1.0, gl_VertexID >= 2 ? 1.0 : -1.0);
  vec3 towards = vec3(sin(seen.x) * cos(seen.y), sin(seen.y), cos(seen.x) * cos(seen.y));
  vec3 right = vec3(cos(seen.x), 0.0, -sin(seen.x));
  vec3 up = cross(towards, right);
  vec3 p = center + offset.xyz + radius * (ground * (corner.x * right + corner.y * up));
  vec4 view = modelViewMatrix * vec4(p, 1.0);
  viewPosition = view.xyz;
  tint = instanceColor;
  int now = (frame + int(offset.w)) % frameCount;
  float column = float((now * phases) / frameCount);
  // Half a texel at each side belongs to the next picture.
  vec2 within = 0.5 + 0.494 * corner;
  place = vec2(column + within.x, seen.z + within.y) * tile;
  gl_Position = projectionMatrix * view;
}`;

export const IMPOSTOR_FRAGMENT = `${HEAD}${SHADE}
uniform mat4 modelViewMatrix;
uniform sampler2D pictures;
in vec3 viewPosition, tint;
in vec2 place;
out vec4 color;
void main() {
  vec4 texel = texture(pictures, place);
  if (texel.a < 0.5) discard;
  vec3 normal = mat3(modelViewMatrix) * (2.0 * texel.rgb / texel.a - 1.0);
  color = vec4(shade(tint, normalize(normal), normalize(-viewPosition)), 1.0);
}`;
