// Shaders of surfaces: pose from textures, material of the file, clay, matcap or normals, and heat maps over them.

import { HEAD } from "./shaders";
import { LIGHT } from "./studio";

/** Ways to draw a surface without a heat map. */
export const SURFACES = ["material", "clay", "matcap", "normals"] as const;
export type SurfaceName = (typeof SURFACES)[number];

/**
 * Optional parts are compiled only if they are used: KIND (index in SURFACES), HEAT, SPLIT (layout), COLORS, MAPPED (textures), BASE_MAP, … Each
 * interpolated value takes time, in particular if the processor draws.
 */
export const SURFACE_VERTEX = `${HEAD}
uniform mat4 modelViewMatrix, projectionMatrix;
uniform sampler2D positions, normals, reference, scalars, boneTints;
uniform int mode;          // 0 plain, 1 error, 2 scalar, 3 bones blended, 4 core triangles
#ifdef SPLIT
in uvec2 corner;           // the point, and the entry of its normal
#endif
#ifdef MAPPED
in vec4 uv;
#endif
#ifdef COLORS
in vec4 vertexColor;
#endif
out vec3 worldPosition, worldNormal;
out float occlusion;
#ifdef MAPPED
out vec4 texturePlace;
#endif
#ifdef COLORS
out vec4 vertexTint;
#endif
#ifdef HEAT
out vec3 tint;
out float value, dominant;
flat out float provoking;
#endif
void main() {
#ifdef SPLIT
  int point = int(corner.x), facing = int(corner.y);
#else
  int point = gl_VertexID, facing = gl_VertexID;
#endif
#ifdef MAPPED
  texturePlace = uv;
#endif
#ifdef COLORS
  vertexTint = vertexColor;
#endif
  vec4 posed = texelFetch(positions, at(point), 0);
  vec3 p = posed.xyz;
#ifdef HEAT
  value = 0.0; tint = vec3(0.0); dominant = provoking = -1.0;
  if (mode == 1) value = distance(p, texelFetch(reference, at(point), 0).xyz);
  if (mode == 2) value = texelFetch(scalars, at(point), 0).x;
  if (mode >= 3) {
    vec4 bone = texelFetch(boneTints, at(point), 0);
    tint = bone.rgb;
    // A point outside of all cores gets a unique number, so that its triangles belong to no core.
    dominant = provoking = bone.a >= 0.0 ? bone.a : -2.0 - float(point);
  }
#endif
  worldPosition = p;
  worldNormal = texelFetch(normals, at(facing), 0).xyz;
  occlusion = posed.w;
  gl_Position = projectionMatrix * (modelViewMatrix * vec4(p, 1.0));
  gl_PointSize = 2.5;
}`;

export const SURFACE_FRAGMENT = `${HEAD}${LIGHT}
uniform int mode;
uniform float low, high, flatShading;
uniform vec3 cameraPosition, clay;
uniform mat4 viewMatrix;
uniform sampler2D ramp, matcap;
uniform vec4 baseColor;
uniform vec3 emissive;
uniform float metallic, roughness, cutoff;
#ifdef BASE_MAP
uniform sampler2D baseMap;
#endif
#ifdef NORMAL_MAP
uniform sampler2D normalMap;
uniform float normalScale;
#endif
#ifdef ROUGHNESS_MAP
uniform sampler2D roughnessMap;
#endif
#ifdef OCCLUSION_MAP
uniform sampler2D occlusionMap;
uniform float occlusionStrength;
#endif
#ifdef EMISSIVE_MAP
uniform sampler2D emissiveMap;
#endif
in vec3 worldPosition, worldNormal;
in float occlusion;
#ifdef MAPPED
in vec4 texturePlace;
#endif
#ifdef COLORS
in vec4 vertexTint;
#endif
#ifdef HEAT
in vec3 tint;
in float value, dominant;
flat in float provoking;
#endif
out vec4 color;

vec3 linear(vec3 c) { return pow(c, vec3(2.2)); }

#ifdef NORMAL_MAP
/** Normal of the map in the tangent frame that the derivatives of position and UV give. */
vec3 bumped(vec3 n, vec2 uv) {
  vec3 px = dFdx(worldPosition), py = dFdy(worldPosition);
  vec2 ux = dFdx(uv), uy = dFdy(uv);
  vec3 across = cross(py, n), along = cross(n, px);
  vec3 t = across * ux.x + along * uy.x, b = across * ux.y + along * uy.y;
  float size = max(dot(t, t), dot(b, b));
  if (size <= 0.0) return n;
  vec3 m = texture(normalMap, uv).xyz * 2.0 - 1.0;
  m.xy *= normalScale;
  return normalize((t * m.x - b * m.y) * inversesqrt(size) + n * m.z);
}
#endif

void main() {
  vec3 v = normalize(cameraPosition - worldPosition);
  vec3 n = flatShading > 0.5 ? cross(dFdx(worldPosition), dFdy(worldPosition)) : worldNormal;
  n = dot(n, n) < 1e-20 ? v : normalize(n);
  if (dot(n, v) < 0.0) n = -n;
  float open = mix(0.35, 1.0, occlusion);
#ifdef HEAT
  vec3 albedo;
  if (mode < 3) {
    float fraction = clamp((value - low) / max(high - low, 1e-20), 0.0, 1.0);
    albedo = linear(texture(ramp, vec2(fraction * 0.996 + 0.002, 0.5)).rgb);
  } else if (mode == 3) albedo = tint;
  else albedo = abs(dominant - provoking) < 0.01 && dominant >= 0.0 ? tint : vec3(0.05);
  // Neutral light without reflections, so that colours can be compared with the colour bar.
  float key = max(dot(n, keyDirection), 0.0);
  if (key > 0.0) key *= mix(0.35, 1.0, keyVisibility(worldPosition, n));
  float level = mix(0.5, 1.0, occlusion) * (0.52 + 0.2 * dot(ambient(n), vec3(0.3333))) + 0.38 * key;
  color = vec4(pow(albedo * min(level, 1.0), vec3(1.0 / 2.2)), 1.0);
#else
#if KIND == 3
  color = vec4(0.5 + 0.5 * (mat3(viewMatrix) * n), 1.0);
#elif KIND == 2
  vec3 seen = mat3(viewMatrix) * n;
  color = vec4(texture(matcap, 0.5 + 0.495 * seen.xy).rgb * mix(0.55, 1.0, occlusion), 1.0);
#elif KIND == 1
  color = vec4(encoded(lit(clay, 0.0, 0.62, n, v, worldPosition, open)), 1.0);
#else
  vec4 base = baseColor;
#ifdef COLORS
  base *= vertexTint;
#endif
#ifdef BASE_MAP
  vec4 sampled = texture(baseMap, BASE_UV);
  base *= vec4(linear(sampled.rgb), sampled.a);
#endif
#ifdef CUTOFF
  if (base.a < cutoff) discard;
#endif
#ifdef NORMAL_MAP
  n = bumped(n, NORMAL_UV);
#endif
  float metal = metallic, rough = roughness;
#ifdef ROUGHNESS_MAP
  vec4 both = texture(roughnessMap, ROUGHNESS_UV);
  rough *= both.g;
  metal *= both.b;
#endif
#ifdef OCCLUSION_MAP
  open *= 1.0 + occlusionStrength * (texture(occlusionMap, OCCLUSION_UV).r - 1.0);
#endif
  vec3 glow = emissive;
#ifdef EMISSIVE_MAP
  glow *= linear(texture(emissiveMap, EMISSIVE_UV).rgb);
#endif
  vec3 radiance = lit(base.rgb, metal, clamp(rough, 0.08, 1.0), n, v, worldPosition, open) + glow;
  color = vec4(encoded(radiance), base.a);
#endif
#endif
}`;

/** Depth of a posed surface, for shadows. */
export const DEPTH_VERTEX = `${HEAD}
uniform mat4 modelViewMatrix, projectionMatrix;
uniform sampler2D positions;
void main() {
  gl_Position = projectionMatrix * modelViewMatrix * vec4(texelFetch(positions, at(gl_VertexID), 0).xyz, 1.0);
}`;

export const DEPTH_FRAGMENT = `${HEAD}
void main() {}`;

/** Adds the visibility of each point from one direction, weighted by its cosine. */
export const OCCLUSION_PASS = `${HEAD}
precision highp sampler2DShadow;
uniform sampler2D rest, restNormals;
uniform sampler2DShadow depths;
uniform mat4 toDepths;
uniform vec3 toward;
uniform float bias;
uniform int pointCount;
out vec4 result;
void main() {
  int point = int(gl_FragCoord.y) * 2048 + int(gl_FragCoord.x);
  result = vec4(0.0);
  if (point >= pointCount) return;
  vec3 n = texelFetch(restNormals, at(point), 0).xyz;
  float cosine = dot(n, toward);
  if (cosine <= 0.0) return;
  vec3 p = texelFetch(rest, at(point), 0).xyz + bias * n;
  vec3 q = (toDepths * vec4(p, 1.0)).xyz;
  result = vec4(cosine * texture(depths, q), cosine, 0.0, 1.0);
}`;

/** Ghost of another frame: transparent, opaque at the outline. */
export const GHOST_VERTEX = `${HEAD}
uniform mat4 modelViewMatrix, projectionMatrix;
uniform sampler2D positions, normals;
out vec3 viewPosition, viewNormal;
void main() {
  vec4 view = modelViewMatrix * vec4(texelFetch(positions, at(gl_VertexID), 0).xyz, 1.0);
  viewPosition = view.xyz;
  viewNormal = mat3(modelViewMatrix) * texelFetch(normals, at(gl_VertexID), 0).xyz;
  gl_Position = projectionMatrix * view;
}`;

export const GHOST_FRAGMENT = `${HEAD}
uniform vec4 ghostColor;
in vec3 viewPosition, viewNormal;
out vec4 color;
void main() {
  float facing = abs(dot(normalize(viewNormal), normalize(viewPosition)));
  color = vec4(ghostColor.rgb, ghostColor.a * mix(1.0, 0.25, facing));
}`;

/** Normals of vertices with sharp edges: like `NORMAL_PASS`, over the triangles of one side of the edge. */
export const SPLIT_NORMAL_PASS = `${HEAD}
uniform sampler2D positions, rings, ringStarts, normalPoints;
uniform int normalCount;
out vec4 result;
void main() {
  int entry = int(gl_FragCoord.y) * 2048 + int(gl_FragCoord.x);
  if (entry >= normalCount) { result = vec4(0.0); return; }
  vec2 span = texelFetch(ringStarts, at(entry), 0).xy;
  vec3 p = texelFetch(positions, at(int(texelFetch(normalPoints, at(entry), 0).x)), 0).xyz;
  vec3 sum = vec3(0.0);
  for (int i = int(span.x); i < int(span.y); i++) {
    vec2 others = texelFetch(rings, at(i), 0).xy;
    sum += cross(texelFetch(positions, at(int(others.x)), 0).xyz - p, texelFetch(positions, at(int(others.y)), 0).xyz - p);
  }
  float size = length(sum);
  result = vec4(size > 0.0 ? sum / size : vec3(0.0), 1.0);
}`;
