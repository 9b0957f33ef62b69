// Helpers to create elements.

import { collapsible } from "./group";

type Child = Node | string | null;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<HTMLElementTagNameMap[K]> & { data?: Record<string, string> } = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const { data, ...rest } = properties;
  const element = Object.assign(document.createElement(tag), rest);
  for (const [name, value] of Object.entries(data ?? {})) element.dataset[name] = value;
  element.append(...children.filter((child) => child !== null));
  return element;
}

export function button(label: string, title: string, act: () => void): HTMLButtonElement {
  return el("button", { type: "button", textContent: label, title, onclick: act });
}

export function toggle(label: string, title: string, on: boolean, act: (on: boolean) => void): HTMLLabelElement {
  const box = el("input", { type: "checkbox", checked: on });
  box.onchange = () => act(box.checked);
  return el("label", { className: "toggle", title }, box, label);
}

export interface Slider {
  element: HTMLElement;
  set(value: number): void;
}

export function slider(
  label: string,
  range: { low: number; high: number; step: number; value: number },
  act: (value: number) => void,
  shown: (value: number) => string = String,
): Slider {
  const value = el("output", { textContent: shown(range.value) });
  const input = el("input", { type: "range", title: label, ariaLabel: label });
  Object.assign(input, { min: String(range.low), max: String(range.high), step: String(range.step) });
  input.value = String(range.value);
  input.oninput = () => {
    value.textContent = shown(Number(input.value));
    act(Number(input.value));
  };
  const set = (to: number): void => {
    input.value = String(to);
    value.textContent = shown(to);
  };
  return { element: el("label", { className: "slider" }, el("span", { textContent: label }), input, value), set };
}

/** Drop-down list; `act` is called with the index of the selected entry. */
export function choice(label: string, choices: string[], chosen: number, act: (value: number) => void): HTMLElement {
  const options = choices.map((textContent, at) => el("option", { value: String(at), textContent }));
  const select = el("select", { title: label, ariaLabel: label }, ...options);
  select.value = String(chosen);
  select.onchange = () => act(Number(select.value));
  return el("label", { className: "slider" }, el("span", { textContent: label }), select);
}

/** Group of a panel; a click on its title shows and hides its contents. */
export function section(title: string, ...children: Child[]): HTMLElement {
  const group = el("section", {}, el("h2", { textContent: title }), ...children);
  collapsible(group);
  return group;
}

/** Formats a number with four significant digits. */
export function significant(value: number): string {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size < 1e-4 || size >= 1e7) return value.toExponential(3);
  return value.toFixed(Math.max(0, 3 - Math.floor(Math.log10(size))));
}
