// Shaders. All data are fetched by index from textures; vertex attributes never change.

import { LIGHT } from "./studio";

export const HEAD = `precision highp float;
precision highp int;
precision highp sampler2D;
ivec2 at(int i) { return ivec2(i & 2047, i >> 11); }
`;

/** Position of a point in a frame: recorded, or the corrected rest pose skinned with a matrix palette. */
export const POSE = `
uniform int kind;          // 0 at rest, 1 recorded, 2 skinned
uniform int pointRows;     // rows of a store with one texel per point
uniform int slots, bones, rank, shapeCount;
uniform sampler2D rest, recorded, influences, palette, shapes, coefficients;

vec3 correctedPoint(int point, int frame) {
  vec3 p = texelFetch(rest, at(point), 0).xyz;
  for (int m = 0; m < rank; m++) {
    float q = texelFetch(coefficients, at(frame * shapeCount + m), 0).x;
    p += q * texelFetch(shapes, at(point) + ivec2(0, m * pointRows), 0).xyz;
  }
  return p;
}

void blend(int point, int frame, out vec4 x, out vec4 y, out vec4 z) {
  x = y = z = vec4(0.0);
  for (int k = 0; k < slots; k++) {
    vec2 influence = texelFetch(influences, at(point * slots + k), 0).xy;
    if (influence.y == 0.0) break;
    int first = (frame * bones + int(influence.x)) * 3;
    x += influence.y * texelFetch(palette, at(first), 0);
    y += influence.y * texelFetch(palette, at(first + 1), 0);
    z += influence.y * texelFetch(palette, at(first + 2), 0);
  }
}

vec3 posedPoint(int point, int frame) {
  if (kind == 1) return texelFetch(recorded, at(point) + ivec2(0, frame * pointRows), 0).xyz;
  if (kind == 0) return texelFetch(rest, at(point), 0).xyz;
  vec4 p = vec4(correctedPoint(point, frame), 1.0);
  if (bones == 0) return p.xyz;
  vec4 x, y, z;
  blend(point, frame, x, y, z);
  return vec3(dot(x, p), dot(y, p), dot(z, p));
}
`;

export const FULL_SCREEN = `${HEAD}
void main() {
  vec2 corner = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
  gl_Position = vec4(corner, 0.0, 1.0);
}`;

/** Position and, as fourth component, the fraction of directions from which the point is visible. */
export const POSE_PASS = `${HEAD}${POSE}
uniform sampler2D occlusions;
uniform int pointCount, frame;
out vec4 result;
void main() {
  int point = int(gl_FragCoord.y) * 2048 + int(gl_FragCoord.x);
  vec2 open = texelFetch(occlusions, at(point), 0).xy;
  float visible = open.y > 0.0 ? open.x / open.y : 1.0;
  result = point < pointCount ? vec4(posedPoint(point, frame), visible) : vec4(0.0);
}`;

/** Area-weighted normals: the sum of the cross products of the triangles of each point. */
export const NORMAL_PASS = `${HEAD}
uniform sampler2D positions, rings, ringStarts;
uniform int pointCount;
out vec4 result;
void main() {
  int point = int(gl_FragCoord.y) * 2048 + int(gl_FragCoord.x);
  if (point >= pointCount) { result = vec4(0.0); return; }
  vec2 span = texelFetch(ringStarts, at(point), 0).xy;
  vec3 p = texelFetch(positions, at(point), 0).xyz;
  vec3 sum = vec3(0.0);
  for (int i = int(span.x); i < int(span.y); i++) {
    vec2 others = texelFetch(rings, at(i), 0).xy;
    sum += cross(texelFetch(positions, at(int(others.x)), 0).xyz - p, texelFetch(positions, at(int(others.y)), 0).xyz - p);
  }
  float size = length(sum);
  result = vec4(size > 0.0 ? sum / size : vec3(0.0), 1.0);
}`;

/** Displayed colour of a matt surface without shadows; normal and direction to the viewer are in view coordinates. */
export const SHADE = `${LIGHT}
uniform mat4 viewMatrix;
vec3 shade(vec3 base, vec3 normal, vec3 view) {
  mat3 toWorld = transpose(mat3(viewMatrix));
  vec3 n = dot(normal, view) < 0.0 ? -normal : normal;
  return encoded(lit(base, 0.0, 0.65, toWorld * n, toWorld * view, vec3(0.0), 1.0));
}
`;

/** Edges fade if they are shorter than a few pixels, since they would cover the surface. */
export const WIRE_VERTEX = `${HEAD}
uniform mat4 modelViewMatrix, projectionMatrix;
uniform sampler2D positions;
uniform float edgeLength, pixels;
out float strength;
void main() {
  vec4 p = modelViewMatrix * vec4(texelFetch(positions, at(gl_VertexID), 0).xyz, 1.0);
  float seen = edgeLength * projectionMatrix[1][1] * 0.5 * pixels / max(-p.z, 1e-9);
  strength = clamp((seen - 1.0) / 11.0, 0.06, 1.0);
  p.xyz *= 0.9995;
  gl_Position = projectionMatrix * p;
}`;

export const WIRE_FRAGMENT = `${HEAD}
uniform vec4 lineColor;
in float strength;
out vec4 color;
void main() { color = vec4(lineColor.rgb, lineColor.a * strength); }`;

export const SEGMENT_VERTEX = `${HEAD}
uniform mat4 modelViewMatrix, projectionMatrix;
in vec3 position;
void main() { gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }`;

export const NORMAL_LINES_VERTEX = `${HEAD}
uniform mat4 modelViewMatrix, projectionMatrix;
uniform sampler2D positions, normals;
uniform float size;
void main() {
  int point = gl_VertexID >> 1;
  vec3 p = texelFetch(positions, at(point), 0).xyz;
  if ((gl_VertexID & 1) == 1) p += size * texelFetch(normals, at(point), 0).xyz;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(p, 1.0);
}`;

export const LINE_FRAGMENT = `${HEAD}
uniform vec4 lineColor;
out vec4 color;
void main() { color = lineColor; }`;

export const MARKER_VERTEX = `${HEAD}
uniform mat4 modelViewMatrix, projectionMatrix;
uniform sampler2D positions;
uniform int point;
void main() {
  gl_Position = projectionMatrix * modelViewMatrix * vec4(texelFetch(positions, at(point), 0).xyz, 1.0);
  gl_PointSize = 11.0;
}`;

/** Dot with a ring. */
export const MARKER_FRAGMENT = `${HEAD}
uniform vec4 lineColor;
out vec4 color;
void main() {
  float from = length(gl_PointCoord - 0.5);
  if (from > 0.5 || (from > 0.2 && from < 0.36)) discard;
  color = lineColor;
}`;

/** Transparent ball: clear at the centre, opaque at the rim. */
export const BALL_VERTEX = `${HEAD}
uniform mat4 modelViewMatrix, projectionMatrix;
in vec3 position;
out vec3 viewPosition, viewNormal;
void main() {
  vec4 view = modelViewMatrix * vec4(position, 1.0);
  viewPosition = view.xyz;
  viewNormal = mat3(modelViewMatrix) * position;
  gl_Position = projectionMatrix * view;
}`;

export const BALL_FRAGMENT = `${HEAD}
uniform vec4 lineColor;
in vec3 viewPosition, viewNormal;
out vec4 color;
void main() {
  float facing = abs(dot(normalize(viewNormal), normalize(viewPosition)));
  color = vec4(lineColor.rgb * (0.55 + 0.45 * facing), lineColor.a * mix(1.0, 0.35, facing * facing));
}`;

/** Bones: octahedra whose corners move with their bone; `corner` and `facing` are those of the rest pose. */
export const BONE_VERTEX = `${HEAD}
uniform mat4 modelViewMatrix, projectionMatrix;
uniform sampler2D palette;
uniform int bones, frame, posed, selected, hovered;
in vec3 corner, facing, boneColor, edge;
in float bone;
out vec3 tint, viewNormal, viewPosition, toEdge;
void main() {
  vec4 p = vec4(corner, 1.0);
  vec3 n = facing;
  if (posed == 1) {
    int first = (frame * bones + int(bone)) * 3;
    vec4 x = texelFetch(palette, at(first), 0), y = texelFetch(palette, at(first + 1), 0), z = texelFetch(palette, at(first + 2), 0);
    p = vec4(dot(x, p), dot(y, p), dot(z, p), 1.0);
    n = vec3(dot(x.xyz, n), dot(y.xyz, n), dot(z.xyz, n));
  }
  tint = int(bone) == selected ? vec3(1.0, 0.6, 0.06) : mix(boneColor, vec3(0.62), 0.25);
  if (int(bone) == hovered) tint = mix(tint, vec3(1.0), 0.45);
  vec4 view = modelViewMatrix * p;
  viewPosition = view.xyz;
  viewNormal = mat3(modelViewMatrix) * n;
  toEdge = edge;
  gl_Position = projectionMatrix * view;
}`;

/** Facets with light from the camera and darker edges of constant width. */
export const BONE_FRAGMENT = `${HEAD}
in vec3 tint, viewNormal, viewPosition, toEdge;
out vec4 color;
void main() {
  vec3 n = normalize(viewNormal), v = normalize(-viewPosition);
  float key = max(dot(n, normalize(vec3(-0.4, 0.7, 0.6))), 0.0);
  float facing = max(dot(n, v), 0.0);
  vec3 c = tint * (0.22 + 0.35 * facing + 0.6 * key) + 0.12 * pow(facing, 12.0);
  vec3 width = fwidth(toEdge);
  vec3 near = smoothstep(vec3(0.0), 1.3 * width, toEdge);
  c *= mix(0.35, 1.0, min(near.x, min(near.y, near.z)));
  color = vec4(pow(c, vec3(1.0 / 2.2)), 1.0);
}`;
