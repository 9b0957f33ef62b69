// Head of the page: name, Open button, theme and, on narrow screens, buttons for the panels; and the empty page.

import type { SceneInfo } from "../source";
import type { Viewer } from "../viewer";
import { button, el } from "./dom";
import { store, stored } from "./group";
import { onlyWhenChanged } from "./panels";

const THEME = "dermis.theme";

export function header(viewer: Viewer, scene: SceneInfo): HTMLElement {
  const open = openButton(scene);
  const theme = button("◐", "Switch between dark and light", () => {
    const next = document.documentElement.dataset["theme"] === "light" ? "dark" : "light";
    store(THEME, next);
    useTheme(viewer, next);
  });
  theme.dataset["role"] = "theme";
  theme.setAttribute("aria-label", "Theme");
  useTheme(viewer, stored(THEME) === "light" ? "light" : "dark");
  const panels = (["left", "right"] as const).map((side) => {
    const label = side === "left" ? "Panels" : "Numbers";
    const one = button(label, `Show the ${label.toLowerCase()}`, () => {
      const shown = document.body.classList.toggle(`show-${side}`);
      document.body.classList.remove(side === "left" ? "show-right" : "show-left");
      one.setAttribute("aria-expanded", String(shown));
    });
    one.dataset["panel"] = side;
    return one;
  });
  document.body.append(el("nav", { className: "drawers" }, ...panels));
  viewer.stage.canvas.addEventListener("pointerdown", () => document.body.classList.remove("show-left", "show-right"));
  return el("h1", {}, el("span", {}, "dermis ", el("small", { textContent: scene.version })), open, theme);
}

function useTheme(viewer: Viewer, name: "dark" | "light"): void {
  document.documentElement.dataset["theme"] = name;
  viewer.stage.setTheme(name);
}

/** Button that opens files like a drop. */
function openButton(scene: SceneInfo): HTMLButtonElement {
  const accept = scene.droppable.map((extension) => `.${extension}`).join();
  const input = el("input", { type: "file", multiple: true, accept, hidden: true, ariaLabel: "Files to add" });
  input.dataset["role"] = "files";
  input.onchange = () => {
    const data = new DataTransfer();
    for (const file of input.files ?? []) data.items.add(file);
    input.value = "";
    window.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
  };
  const open = button("Open", "Add files to the page", () => input.click());
  open.dataset["role"] = "open";
  open.append(input);
  input.addEventListener("click", (event) => event.stopPropagation());
  return open;
}

/** Contents of an empty page. */
export function invitation(viewer: Viewer): HTMLElement {
  const open = openButton(viewer.scene);
  open.classList.add("primary");
  open.dataset["role"] = "invite";
  const types = viewer.scene.droppable.map((extension) => extension.toUpperCase()).join(" · ");
  const box = el(
    "div",
    { className: "invitation" },
    el("div", { className: "sign", textContent: "⇩" }),
    el("h3", { textContent: "Drop a character, a mesh or a motion here" }),
    el("p", { className: "hint", textContent: types }),
    open,
  );
  // Assets of the command line are still being loaded when the page opens.
  let loaded = viewer.scene.assets.length === 0;
  onlyWhenChanged(
    viewer,
    () => String(viewer.views.length),
    () => {
      loaded ||= viewer.views.length > 0;
      box.hidden = viewer.views.length > 0 || !loaded;
      document.body.classList.toggle("empty", !box.hidden);
    },
  );
  return box;
}
