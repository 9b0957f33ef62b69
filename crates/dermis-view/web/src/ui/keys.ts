// Keyboard shortcuts, and the panel that lists them.
//
// A focused control handles the keys that it uses itself: Space on a button, arrows on a slider, all letters in a list
// or a text field. Shortcuts get the other keys.

import { button, el } from "./dom";

export interface Key {
  key: string;
  shown?: string;
  text: string;
  act: () => void;
}

const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"];

/** Time between a key and the change of a list that it causes. */
const KEYED_MS = 300;

/** Returns true if a control uses a key itself. */
function uses(target: HTMLElement, event: KeyboardEvent): boolean {
  const { key } = event;
  // Letters other than that of an exponent cannot be part of a number.
  if (target.matches("input[type=number]") && /^[a-df-z ?[\]]$/i.test(key) && !event.ctrlKey) return false;
  if (target.matches("textarea, select, input[type=text], input[type=number], [contenteditable]")) {
    // Undo and redo in a field are those of its text.
    return key !== "Escape";
  }
  if (event.ctrlKey || event.metaKey) return false;
  if (target.matches("input[type=range], input[type=radio]")) return ARROWS.includes(key);
  if (target.matches("button, summary, a, [role=button]")) return key === " " || key === "Enter";
  return target.matches("input[type=checkbox]") && key === " ";
}

export function keys(listed: Key[]): HTMLElement {
  const list = [...listed, { key: "?", text: "this panel", act: () => show(panel.hidden) }];
  const rows = list.map(({ key, shown, text }) =>
    el(
      "tr",
      {},
      el("td", {}, el("kbd", { textContent: shown ?? (key.length === 1 ? key.toUpperCase() : key) })),
      el("td", { textContent: text }),
    ),
  );
  const mouse = [
    ["Drag", "rotate"],
    ["Right drag", "pan"],
    ["Wheel", "zoom"],
    ["Click", "select a point; with a brush: paint"],
    ["Alt + stroke", "push in, erase"],
  ];
  const more = mouse.map(([what, text]) =>
    el("tr", {}, el("td", {}, el("kbd", { textContent: what! })), el("td", { textContent: text! })),
  );
  const close = button("Close", "Close this panel (Escape)", () => show(false));
  const panel = el(
    "div",
    { className: "help", hidden: true, role: "dialog", ariaModal: "true", ariaLabel: "Keys" },
    el("div", { className: "columns" }, el("table", {}, ...rows), el("div", {}, el("table", {}, ...more), close)),
  );
  let before: Element | null = null;
  const show = (shown: boolean): void => {
    if (shown) before = document.activeElement;
    panel.hidden = !shown;
    if (shown) close.focus();
    else if (before instanceof HTMLElement) before.focus();
  };
  panel.onclick = () => show(false);
  // The panel has one control, which keeps the focus.
  panel.onkeydown = (event) => event.key === "Tab" && event.preventDefault();
  // A list that is used with the mouse loses the focus after a choice, so that the shortcuts work again.
  let keyed = -Infinity;
  window.addEventListener("change", ({ target }) => {
    if (target instanceof HTMLSelectElement && performance.now() - keyed > KEYED_MS) target.blur();
  });
  window.addEventListener("keydown", (event) => {
    if (event.target instanceof HTMLSelectElement) keyed = performance.now();
    const target = event.target as HTMLElement;
    if (event.key === "Escape" && !panel.hidden) show(false);
    if (target.matches("input[type=text], input[type=number]") && event.key === "Enter") target.blur();
    if (uses(target, event)) return;
    const control = event.ctrlKey || event.metaKey;
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const wanted = control ? `ctrl+${event.shiftKey ? "shift+" : ""}${name}` : event.key;
    const found = list.find(({ key }) => key === wanted || (key.length === 1 && !control && key === name));
    if (!found) return;
    event.preventDefault();
    found.act();
  });
  panel.dataset["role"] = "help";
  return panel;
}
