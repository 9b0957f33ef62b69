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
