// The clicked point: its number, place, weights, and its error over time.

import type { View, Viewer } from "../viewer";
import { button, el, section, significant } from "./dom";
import { plot, SERIES_COLORS } from "./plot";

export class PointPanel {
  readonly element: HTMLElement;
  private readonly content = el("div", { className: "point" });
  private selected: { view: View; point: number } | null = null;
  private errors: { key: string; values: number[] } | null = null;

  constructor(private readonly viewer: Viewer) {
    this.element = section("Vertex", this.content);
    viewer.listen(() => this.show());
    this.show();
  }

  select(view: View, point: number): void {
    this.selected = { view, point };
    this.viewer.state.marked = { model: view.model, point };
    const heaviest = view.model.influencesOf(point)[0];
    if (heaviest) this.viewer.state.bone = heaviest.bone;
    this.viewer.changed();
  }

  private show(): void {
    if (!this.selected) {
      this.content.replaceChildren(
        el("p", { className: "hint", textContent: "Click the shape to see one of its points." }),
      );
      return;
    }
    const { view, point } = this.selected;
    const shown = this.viewer.columns.includes(view)
      ? view
      : (this.viewer.columns.find((v) => v.model === view.model) ?? view);
    const positions = this.viewer.positions(shown);
    const place = [0, 1, 2].map((c) => significant(positions[4 * point + c]!)).join("  ");
    const head = el("p", {}, el("b", { textContent: `Point ${point}` }), ` at ${place} ${view.model.info.unit}`);
    head.dataset["role"] = "point";
    this.content.replaceChildren(head, ...this.weightRows(shown, point), ...this.errorPlot(shown, point));
  }

  private weightRows(view: View, point: number): HTMLElement[] {
    return view.model.influencesOf(point).map(({ bone, weight }) => {
      const name = button(view.model.info.bones[bone]?.name || `bone ${bone}`, "Show the weight of this bone", () => {
        Object.assign(this.viewer.state, { bone, heat: "weight" });
        this.viewer.changed();
      });
      name.className = "row";
      const bar = el("div", { className: "weight" });
      bar.style.width = `${Math.round(90 * Math.max(0, Math.min(weight, 1)))}px`;
      return el("div", { className: "step" }, name, bar, el("span", { textContent: weight.toFixed(3) }));
    });
  }

  private errorPlot(view: View, point: number): Node[] {
    const { info } = view.model;
    if (info.reference === null || view.tag === "original") return [];
    const rank = this.viewer.rankOf(view);
    const key = `${info.id} ${point} ${rank}`;
    if (this.errors?.key !== key) {
      this.errors = { key, values: [] };
      void this.viewer.source.pointErrors(info.id, point, rank).then((values) => {
        if (this.errors?.key === key && values) {
          this.errors.values = values;
          this.viewer.changed();
        }
      });
    }
    const { values } = this.errors;
    if (values.length === 0) return [];
    const points = values.map((value, frame): [number, number] => [frame, value]);
    const now = values[this.viewer.state.frame] ?? 0;
    const caption = el("p", {
      className: "hint",
      textContent: `Error ${significant(now)} ${info.unit} in this frame, rank ${rank}`,
    });
    const options = { width: 248, height: 110, x: "frame", y: `error in ${info.unit}`, mark: this.viewer.state.frame };
    return [caption, plot([{ label: "error", color: SERIES_COLORS[1]!, points }], options)];
  }
}
