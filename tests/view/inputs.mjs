// Inputs of the tests: fits of a built-in sample, and a large animated mesh.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Runs dermis and returns the JSON that it prints. */
export function run(dermis, args, cwd) {
  return JSON.parse(
    execFileSync(dermis, [...args, "--format", "json"], {
      cwd,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    }),
  );
}

/** Writes a square of `cells` × `cells` quads and a coarser level of detail as USD. */
export function writeLevels(folder, name, cells) {
  const mesh = (path, n) => {
    const [points, indices] = [[], []];
    for (let i = 0; i <= n; i++)
      for (let j = 0; j <= n; j++) points.push(`(${i / n}, ${0.2 * Math.sin((6 * i) / n)}, ${j / n})`);
    for (let i = 0; i < n; i++)
      for (let j = 0; j < n; j++) {
        const at = i * (n + 1) + j;
        indices.push(at, at + 1, at + n + 2, at + n + 1);
      }
    const counts = Array(n * n)
      .fill(4)
      .join(", ");
    return `def Mesh "${path}"\n{\n  int[] faceVertexCounts = [${counts}]\n  int[] faceVertexIndices = [${indices.join(", ")}]\n  point3f[] points = [${points.join(", ")}]\n}\n`;
  };
  writeFileSync(
    join(folder, `${name}.usda`),
    `#usda 1.0\n(\n  metersPerUnit = 1\n  upAxis = "Y"\n)\n${mesh("hill", cells)}${mesh("hill_lod1", 2)}`,
  );
}

/** Writes a swaying tube of `rings` × `around` points as a point cache with its faces. */
export function writeTube(folder, name, rings, around, frames) {
  const position = (i, j, sway) => {
    const [u, angle] = [i / (rings - 1), (2 * Math.PI * j) / around];
    const radius = 0.25 * (1 + 0.15 * Math.sin(9 * u));
    return [radius * Math.cos(angle) + sway * u * u, 3 * u, radius * Math.sin(angle) + 0.3 * sway * Math.sin(6 * u)];
  };
  const each = (visit) => {
    for (let i = 0; i < rings; i++) for (let j = 0; j < around; j++) visit(i, j);
  };
  const lines = [];
  each((i, j) =>
    lines.push(
      `v ${position(i, j, 0)
        .map((c) => c.toFixed(6))
        .join(" ")}`,
    ),
  );
  each((i, j) => {
    if (i + 1 === rings) return;
    const [a, b] = [i * around + j + 1, i * around + ((j + 1) % around) + 1];
    lines.push(`f ${a} ${a + around} ${b + around} ${b}`);
  });
  writeFileSync(join(folder, `${name}.obj`), lines.join("\n") + "\n");
  const points = rings * around;
  const cache = Buffer.alloc(32 + 12 * points * frames);
  cache.write("POINTCACHE2\0", 0, "latin1");
  cache.writeInt32LE(1, 12);
  cache.writeInt32LE(points, 16);
  cache.writeFloatLE(0, 20);
  cache.writeFloatLE(1, 24);
  cache.writeInt32LE(frames, 28);
  let at = 32;
  for (let frame = 0; frame < frames; frame++) {
    const sway = Math.sin((2 * Math.PI * frame) / frames);
    each((i, j) => {
      for (const c of position(i, j, sway)) at = cache.writeFloatLE(c, at);
    });
  }
  writeFileSync(join(folder, `${name}.pc2`), cache);
}

/** Writes a glTF file with two skinned tubes on skeletons of their own, a static box and two clips. */
export function writeSkins(folder, name) {
  const [chunks, bufferViews, accessors] = [[], [], []];
  let length = 0;
  const add = (values, kind, type, more = {}) => {
    const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
    bufferViews.push({ buffer: 0, byteOffset: length, byteLength: bytes.length });
    const size = { SCALAR: 1, VEC3: 3, VEC4: 4, MAT4: 16 }[type];
    accessors.push({ bufferView: bufferViews.length - 1, componentType: kind, count: values.length / size, type, ...more });
    const padded = Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
    chunks.push(padded);
    length += padded.length;
    return accessors.length - 1;
  };
  const [RINGS, AROUND] = [7, 8];
  const tube = (x) => {
    const [points, joints, weights, faces] = [[], [], [], []];
    for (let i = 0; i < RINGS; i++)
      for (let j = 0; j < AROUND; j++) {
        const [u, angle] = [i / (RINGS - 1), (2 * Math.PI * j) / AROUND];
        points.push(x + 0.2 * Math.cos(angle), 2 * u, 0.2 * Math.sin(angle));
        joints.push(0, 1, 0, 0);
        weights.push(1 - u, u, 0, 0);
        const [a, b] = [i * AROUND + j, i * AROUND + ((j + 1) % AROUND)];
        if (i + 1 < RINGS) faces.push(a, a + AROUND, b + AROUND, a, b + AROUND, b);
      }
    const attributes = {
      POSITION: add(Float32Array.from(points), 5126, "VEC3", { min: [x - 0.2, 0, -0.2], max: [x + 0.2, 2, 0.2] }),
      JOINTS_0: add(Uint8Array.from(joints), 5121, "VEC4"),
      WEIGHTS_0: add(Float32Array.from(weights), 5126, "VEC4"),
    };
    return { primitives: [{ attributes, indices: add(Uint16Array.from(faces), 5123, "SCALAR") }] };
  };
  const corners = [0, 1, 2, 3, 4, 5, 6, 7].flatMap((k) => [(k & 1) - 0.5, ((k >> 1) & 1) * 0.3, (k >> 2) - 2]);
  const sides = [0, 1, 3, 0, 3, 2, 4, 7, 5, 4, 6, 7, 0, 4, 5, 0, 5, 1, 2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 5, 7, 1, 7, 3];
  const box = {
    primitives: [
      {
        attributes: {
          POSITION: add(Float32Array.from(corners), 5126, "VEC3", { min: [-0.5, 0, -2], max: [0.5, 0.3, -1] }),
        },
        indices: add(Uint16Array.from(sides), 5123, "SCALAR"),
      },
    ],
  };
  const identity = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
  const binds = (x) => {
    const at = (y) => [...identity.slice(0, 12), -x, -y, 0, 1];
    return add(Float32Array.from([...at(0), ...at(1)]), 5126, "MAT4");
  };
  const xs = [-0.6, 0.6];
  const nodes = [
    ...xs.flatMap((x, k) => [
      { name: `root ${k}`, translation: [x, 0, 0], children: [2 * k + 1] },
      { name: `tip ${k}`, translation: [0, 1, 0] },
    ]),
    { name: "body", mesh: 0, skin: 0 },
    { name: "visor", mesh: 1, skin: 1 },
    { name: "box", mesh: 2 },
  ];
  const meshes = [...xs.map(tube), box];
  const skins = xs.map((x, k) => ({ joints: [2 * k, 2 * k + 1], inverseBindMatrices: binds(x) }));
  const animation = (clip, angle, moved) => {
    const times = Float32Array.from({ length: 13 }, (_, k) => k / 12);
    const input = add(times, 5126, "SCALAR", { min: [0], max: [1] });
    const turn = (t) => [0, 0, Math.sin(0.5 * angle * t), Math.cos(0.5 * angle * t)];
    const output = add(Float32Array.from([...times].flatMap(turn)), 5126, "VEC4");
    const channels = moved.map((k) => ({ sampler: 0, target: { node: 2 * k + 1, path: "rotation" } }));
    return { name: clip, samplers: [{ input, output }], channels };
  };
  const animations = [animation("bend", 1.2, [0, 1]), animation("nod", -0.9, [1])];
  const uri = () => `data:application/octet-stream;base64,${Buffer.concat(chunks).toString("base64")}`;
  const gltf = {
    asset: { version: "2.0" },
    scene: 0,
    scenes: [{ nodes: [0, 2, 4, 5, 6] }],
    nodes,
    meshes,
    skins,
    animations,
    accessors,
    bufferViews,
    buffers: [{ byteLength: length, uri: uri() }],
  };
  writeFileSync(join(folder, `${name}.gltf`), JSON.stringify(gltf));
}
