// Messages to the user: results disappear after a while, errors remain longer and can be closed, states remain until
// they end. Screen readers announce all of them.

import { button, el } from "./dom";

/** Time that results and errors are shown. */
const [RESULT_MS, ERROR_MS] = [6000, 30_000];
/** Maximum number of messages; the oldest are removed. */
const MAX_MESSAGES = 8;

export class Messages {
  readonly element = el("div", { className: "messages", role: "status", ariaLive: "polite", ariaAtomic: "false" });
  private readonly states = new Map<string, HTMLElement>();

  /** Shows a result, or an error. */
  say(text: string, isError = false): void {
    const same = [...this.element.children].find((child) => child.firstChild?.textContent === text);
    same?.remove();
    const message = this.add(text, isError ? "error" : "result");
    setTimeout(() => message.remove(), isError ? ERROR_MS : RESULT_MS);
    const all = this.element.children;
    if (all.length > MAX_MESSAGES) [...all].find((child) => !child.classList.contains("state"))?.remove();
  }

  /** Shows a state until it is replaced, or removed by an empty text. */
  state(name: string, text: string): void {
    const known = this.states.get(name);
    if (known?.firstChild?.textContent === text) return;
    known?.remove();
    this.states.delete(name);
    if (text) this.states.set(name, this.add(text, "state"));
  }

  private add(text: string, kind: "result" | "error" | "state"): HTMLElement {
    const message = el("div", { className: `message ${kind}` }, el("span", { textContent: text }));
    if (kind === "error") {
      message.role = "alert";
      message.append(button("×", "Close this message", () => message.remove()));
    }
    this.element.append(message);
    return message;
  }
}
