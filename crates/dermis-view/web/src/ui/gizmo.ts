// Axis gizmo: the directions of the axes as seen by the camera. A click on an axis looks along it.

import * as THREE from "three";
import type { Preset, Stage } from "../stage";
import { el } from "./dom";

const SVG = "http://www.w3.org/2000/svg";
const SIZE = 84;
const REACH = 30;
const COLORS = { x: "#e5534b", y: "#57ab5a", z: "#4184e4" };

export function gizmo(stage: Stage, look: (preset: Preset) => void): HTMLElement {
  const svg = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ width: SIZE, height: SIZE, viewBox: `0 0 ${SIZE} ${SIZE}` })) {
    svg.setAttribute(name, String(value));
  }
  const box = el("div", { className: "gizmo", title: "Axes; click one to look along it" });
  box.append(svg);
  const show = (): void => {
    const turn = stage.camera.quaternion.clone().invert();
    const axes = (["x", "y", "z"] as const).flatMap((name, at) =>
      [1, -1].map((sign) => {
        const axis = new THREE.Vector3().setComponent(at, sign);
        return { name, sign, axis, seen: axis.clone().applyQuaternion(turn) };
      }),
    );
    axes.sort((a, b) => a.seen.z - b.seen.z);
    svg.replaceChildren(...axes.flatMap(({ name, sign, axis, seen }) => drawn(name, sign, seen, () => look(toward(axis)))));
  };
  /** Preset that looks along an axis of the file. */
  const toward = (axis: THREE.Vector3): Preset => {
    const { right, up, front } = stage.axes();
    const found: [Preset, number][] = [
      ["right", right.dot(axis)],
      ["left", -right.dot(axis)],
      ["top", up.dot(axis)],
      ["bottom", -up.dot(axis)],
      ["front", front.dot(axis)],
      ["back", -front.dot(axis)],
    ];
    return found.reduce((best, one) => (one[1] > best[1] ? one : best))[0];
  };
  stage.controls.addEventListener("change", show);
  show();
  return box;
}

function drawn(name: "x" | "y" | "z", sign: number, seen: THREE.Vector3, act: () => void): SVGElement[] {
  const [x, y] = [SIZE / 2 + REACH * seen.x, SIZE / 2 - REACH * seen.y];
  const color = COLORS[name];
  const ball = node("circle", { cx: x, cy: y, r: sign > 0 ? 8 : 5.5, fill: color, class: "end", "data-axis": `${sign > 0 ? "" : "-"}${name}` });
  ball.setAttribute("fill-opacity", sign > 0 ? "1" : "0.4");
  ball.addEventListener("click", act);
  if (sign < 0) return [ball];
  const line = node("line", { x1: SIZE / 2, y1: SIZE / 2, x2: x, y2: y, stroke: color, "stroke-width": 2.5 });
  const label = node("text", { x, y: y + 3.7, "text-anchor": "middle" });
  label.textContent = name.toUpperCase();
  return [line, ball, label];
}

function node(name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}
