// Shaders. All data are fetched by index from textures; vertex attributes never change.

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

export const POSE_PASS = `${HEAD}${POSE}
uniform int pointCount, frame;
out vec4 result;
void main() {
  int point = int(gl_FragCoord.y) * 2048 + int(gl_FragCoord.x);
  result = point < pointCount ? vec4(posedPoint(point, frame), 1.0) : vec4(0.0);
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

/** Key light from the upper left of the camera, fill light from the right, and rim light. */
export const SHADE = `
vec3 shade(vec3 base, vec3 normal, vec3 view) {
  vec3 n = dot(normal, view) < 0.0 ? -normal : normal;
  float key = max(dot(n, normalize(vec3(-0.5, 0.8, 0.65))), 0.0);
  float fill = max(dot(n, normalize(vec3(0.9, 0.1, 0.5))), 0.0);
  float sky = 0.5 + 0.5 * n.y;
  float rim = pow(1.0 - max(dot(n, view), 0.0), 3.0);
  float gloss = pow(max(dot(reflect(-normalize(vec3(-0.5, 0.8, 0.65)), n), view), 0.0), 24.0);
  vec3 light = 0.20 + 0.14 * sky + 0.70 * key * vec3(1.0, 0.97, 0.92) + 0.16 * fill * vec3(0.75, 0.85, 1.0);
  return pow(base * light + 0.10 * rim + 0.06 * gloss, vec3(1.0 / 2.2));
}
`;

export const SURFACE_VERTEX = `${HEAD}
uniform mat4 modelViewMatrix, projectionMatrix;
uniform sampler2D positions, normals, reference, scalars, boneTints;
uniform int mode;          // 0 plain, 1 error, 2 scalar, 3 bones blended, 4 core triangles
out vec3 viewPosition, viewNormal, tint;
out float value;
out float dominant;
flat out float provoking;
void main() {
  int point = gl_VertexID;
  vec3 p = texelFetch(positions, at(point), 0).xyz;
  value = 0.0; tint = vec3(0.0); dominant = provoking = -1.0;
  if (mode == 1) value = distance(p, texelFetch(reference, at(point), 0).xyz);
  if (mode == 2) value = texelFetch(scalars, at(point), 0).x;
  if (mode >= 3) {
    vec4 bone = texelFetch(boneTints, at(point), 0);
    tint = bone.rgb;
    // A point outside of all cores gets a unique number, so that its triangles belong to no core.
    dominant = provoking = bone.a >= 0.0 ? bone.a : -2.0 - float(point);
  }
  vec4 view = modelViewMatrix * vec4(p, 1.0);
  viewPosition = view.xyz;
  viewNormal = mat3(modelViewMatrix) * texelFetch(normals, at(point), 0).xyz;
  gl_Position = projectionMatrix * view;
  gl_PointSize = 2.5;
}`;

export const SURFACE_FRAGMENT = `${HEAD}${SHADE}
uniform int mode;
uniform float low, high, flatShading;
uniform vec3 base;
uniform sampler2D ramp;
in vec3 viewPosition, viewNormal, tint;
in float value, dominant;
flat in float provoking;
out vec4 color;
void main() {
  vec3 normal = flatShading > 0.5 ? cross(dFdx(viewPosition), dFdy(viewPosition)) : viewNormal;
  if (dot(normal, normal) < 1e-20) normal = -viewPosition;
  vec3 albedo = base;
  if (mode == 1 || mode == 2) {
    float fraction = clamp((value - low) / max(high - low, 1e-20), 0.0, 1.0);
    albedo = pow(texture(ramp, vec2(fraction * 0.996 + 0.002, 0.5)).rgb, vec3(2.2));
  }
  if (mode == 3) albedo = tint;
  if (mode == 4) albedo = abs(dominant - provoking) < 0.01 && dominant >= 0.0 ? tint : vec3(0.05);
  color = vec4(shade(albedo, normalize(normal), normalize(-viewPosition)), 1.0);
}`;

export const WIRE_VERTEX = `${HEAD}
uniform mat4 modelViewMatrix, projectionMatrix;
uniform sampler2D positions;
void main() {
  vec4 p = modelViewMatrix * vec4(texelFetch(positions, at(gl_VertexID), 0).xyz, 1.0);
  p.xyz *= 0.9995;
  gl_Position = projectionMatrix * p;
}`;

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

/** Bones: octahedra whose corners move with their bone; `corner` is their location in the rest pose. */
export const BONE_VERTEX = `${HEAD}
uniform mat4 modelViewMatrix, projectionMatrix;
uniform sampler2D palette;
uniform int bones, frame, posed, selected;
in vec3 corner, boneColor;
in float bone, shade;
out vec4 tint;
void main() {
  vec4 p = vec4(corner, 1.0);
  if (posed == 1) {
    int first = (frame * bones + int(bone)) * 3;
    p = vec4(dot(texelFetch(palette, at(first), 0), p), dot(texelFetch(palette, at(first + 1), 0), p),
             dot(texelFetch(palette, at(first + 2), 0), p), 1.0);
  }
  bool marked = int(bone) == selected;
  tint = vec4((marked ? vec3(1.0, 0.78, 0.2) : boneColor) * shade, marked ? 1.0 : 0.85);
  gl_Position = projectionMatrix * modelViewMatrix * p;
}`;

export const BONE_FRAGMENT = `${HEAD}
in vec4 tint;
out vec4 color;
void main() { color = vec4(pow(tint.rgb, vec3(1.0 / 2.2)), tint.a); }`;

/** Crowd: each instance has its own phase and is skinned in the vertex shader. */
export const CROWD_VERTEX = `${HEAD}${POSE}
uniform mat4 modelViewMatrix, projectionMatrix;
uniform sampler2D restNormals;
uniform int frame, frameCount;
in vec4 offset;            // offset on the ground, and the phase in frames
in vec3 instanceColor;
out vec3 viewPosition, viewNormal, tint;
void main() {
  int point = gl_VertexID;
  int now = (frame + int(offset.w)) % frameCount;
  vec3 p, n = vec3(0.0);
  if (kind == 2 && bones > 0) {
    vec4 x, y, z, shaped = vec4(correctedPoint(point, now), 1.0);
    blend(point, now, x, y, z);
    p = vec3(dot(x, shaped), dot(y, shaped), dot(z, shaped));
    n = texelFetch(restNormals, at(point), 0).xyz;
    n = vec3(dot(x.xyz, n), dot(y.xyz, n), dot(z.xyz, n));
  } else {
    p = posedPoint(point, now);
  }
  vec4 view = modelViewMatrix * vec4(p + offset.xyz, 1.0);
  viewPosition = view.xyz;
  viewNormal = mat3(modelViewMatrix) * n;
  tint = instanceColor;
  gl_Position = projectionMatrix * view;
}`;

/** Crowd from vertices that are uploaded in every frame. */
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
