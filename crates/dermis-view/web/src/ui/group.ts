// Collapsible groups of the side panels and their resizable widths; both are remembered.

import { el } from "./dom";

const CLOSED = "dermis.closed";
const WIDTH = { left: "dermis.left", right: "dermis.right" };

/** Value of the storage of this site; `null` if it is empty or not permitted. */
export function stored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function store(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Without storage the value lasts until the page is closed.
  }
}

function closedTitles(): Set<string> {
  return new Set((stored(CLOSED) ?? "").split("\n").filter((title) => title !== ""));
}

/** Adds the behaviour of a group to a section: its title shows and hides the contents. */
export function collapsible(section: HTMLElement): void {
  const title = section.querySelector("h2");
  if (!title) return;
  const name = title.textContent ?? "";
  const set = (closed: boolean): void => {
    section.classList.toggle("closed", closed);
    title.setAttribute("aria-expanded", String(!closed));
  };
  title.tabIndex = 0;
  title.setAttribute("role", "button");
  set(closedTitles().has(name));
  const flip = (): void => {
    const titles = closedTitles();
    const closed = !section.classList.contains("closed");
    if (closed) titles.add(name);
    else titles.delete(name);
    store(CLOSED, [...titles].join("\n"));
    set(closed);
  };
  title.addEventListener("click", flip);
  title.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    flip();
  });
}

/** Handle on the inner edge of a side panel that changes its width. */
export function widthHandle(app: HTMLElement, side: "left" | "right"): HTMLElement {
  const handle = el("div", { className: `handle ${side}`, title: "Drag to change the width; double-click to reset" });
  const set = (width: number | null): void => {
    if (width === null) app.style.removeProperty(`--${side}`);
    else app.style.setProperty(`--${side}`, `${Math.round(Math.min(Math.max(width, 180), innerWidth / 2.5))}px`);
  };
  const known = Number(stored(WIDTH[side]));
  if (known > 0) set(known);
  handle.onpointerdown = (event) => {
    handle.setPointerCapture(event.pointerId);
    handle.onpointermove = ({ clientX }) => {
      const width = side === "left" ? clientX : innerWidth - clientX;
      set(width);
      store(WIDTH[side], String(width));
    };
  };
  handle.onpointerup = handle.onpointercancel = () => (handle.onpointermove = null);
  handle.ondblclick = () => {
    set(null);
    store(WIDTH[side], "");
  };
  return handle;
}
