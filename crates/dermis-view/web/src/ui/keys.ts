// Keyboard shortcuts, and the panel that lists them.

import { el } from "./dom";

export interface Key {
  key: string;
  shown?: string;
  text: string;
  act: () => void;
}

export function keys(listed: Key[]): HTMLElement {
  const list = [...listed, { key: "?", text: "this panel", act: () => (panel.hidden = !panel.hidden) }];
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
  const panel = el(
    "div",
    { className: "help", hidden: true },
    el("div", { className: "columns" }, el("table", {}, ...rows), el("table", {}, ...more)),
  );
  panel.onclick = () => (panel.hidden = true);
  // Lists and fields lose the focus after a change, so that the keys work again.
  window.addEventListener("change", ({ target }) => target instanceof HTMLSelectElement && target.blur());
  window.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (target.matches("input[type=text], input[type=number], select")) {
      if (event.key === "Enter") target.blur();
      return;
    }
    const wanted = event.ctrlKey || event.metaKey ? `ctrl+${event.key.toLowerCase()}` : event.key;
    if (event.key === "Escape") panel.hidden = true;
    const found = list.find(({ key }) => key === wanted || (key.length === 1 && key === wanted.toLowerCase()));
    if (!found) return;
    event.preventDefault();
    found.act();
  });
  panel.dataset["role"] = "help";
  return panel;
}
