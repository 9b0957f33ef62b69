// Panel of the selected point: its index, position, weights, and error over time.

import type { View, Viewer } from "../viewer";
import { button, el, section, significant } from "./dom";
import { onlyWhenChanged } from "./panels";
import { moveMark, plot, SERIES_COLORS } from "./plot";

export class PointPanel {
  readonly element: HTMLElement;
  private readonly position = document.createTextNode("");
  private readonly now = el("p", { className: "hint" });
  private readonly content = el("div", { className: "point" });
  private curve: SVGSVGElement | null = null;
  private selected: { view: View; point: number } | null = null;
  private errors: { key: string; values: number[] } = { key: "", values: [] };

  constructor(private readonly viewer: Viewer) {
    this.element = section("Vertex", this.content);
    onlyWhenChanged(
      viewer,
      () => `${this.key()} ${this.errors.values.length}`,
      () => this.rebuild(),
    );
    viewer.listen(() => this.follow());
  }

  select(view: View, point: number): void {
    this.selected = { view, point };
    this.viewer.state.marked = { model: view.model, point };
    const strongest = view.model.influencesOf(point)[0];
    if (strongest) Object.assign(this.viewer.state, { bone: strongest.bone, boneModel: view.model });
    this.viewer.changed();
  }

  /** View of the point: the clicked one, or another shown view of its model. */
  private get view(): View | null {
    const { columns } = this.viewer;
    const clicked = this.selected?.view ?? null;
    if (!clicked || columns.includes(clicked)) return clicked;
    return columns.find((view) => view.model === clicked.model) ?? clicked;
  }

  private key(): string {
    const { view } = this;
    if (!view) return "";
    const { clip, strokes } = view.model;
    return `${view.id} ${this.selected!.point} ${this.viewer.rankOf(view)} ${clip} ${strokes.rest > 0}`;
  }

  private rebuild(): void {
    const { view } = this;
    this.curve = null;
    if (!view) {
      const hint = "Click the surface to inspect a point.";
      this.content.replaceChildren(el("p", { className: "hint", textContent: hint }));
      return;
    }
    const { point } = this.selected!;
    const head = el("p", { data: { role: "point" } }, el("b", { textContent: `Point ${point}` }), this.position);
    this.content.replaceChildren(head, ...this.weightRows(view, point), ...this.errorPlot(view, point));
    this.follow();
  }

  /** Updates the contents that change with every frame. */
  private follow(): void {
    const { view, viewer, curve } = this;
    if (!view) return;
    const { unit } = view.model.info;
    const position = viewer.position(view, this.selected!.point).map(significant).join("  ");
    this.position.data = ` at ${position} ${unit}`;
    if (!curve) return;
    const frame = viewer.frameOf(view);
    moveMark(curve, frame);
    const edited = view.model.strokes.rest > 0 ? ", before the edit" : "";
    const error = significant(this.errors.values[frame] ?? 0);
    this.now.textContent = `Error ${error} ${unit} in this frame, rank ${viewer.rankOf(view)}${edited}`;
  }

  private weightRows(view: View, point: number): HTMLElement[] {
    const { model } = view;
    return model.influencesOf(point).map(({ bone, weight }) => {
      const name = button(model.info.bones[bone]?.name || `bone ${bone}`, "Show the weight of this bone", () => {
        Object.assign(this.viewer.state, { bone, boneModel: model, heat: "weight" });
        this.viewer.changed();
      });
      name.className = "row";
      const bar = el("div", { className: "weight" });
      bar.style.width = `${Math.round(90 * Math.max(0, Math.min(weight, 1)))}px`;
      return el("div", { className: "step" }, name, bar, el("span", { textContent: weight.toFixed(3) }));
    });
  }

  private errorPlot(view: View, point: number): Node[] {
    const { viewer } = this;
    if (!viewer.referenceOf(view)) return [];
    const key = this.key();
    if (this.errors.key !== key) {
      this.errors = { key, values: [] };
      void this.fetchErrors(view, point, key);
    }
    const { values } = this.errors;
    if (values.length === 0) return [];
    const points = values.map((value, frame): [number, number] => [frame, value]);
    const pick = (frame: number): void => {
      viewer.play(false);
      viewer.setFrame(frame);
    };
    const options = { width: 248, height: 96, x: "frame", y: `error in ${view.model.info.unit}`, mark: 0, pick };
    this.curve = plot([{ label: "error", color: SERIES_COLORS[1]!, points }], options);
    return [this.now, this.curve];
  }

  private async fetchErrors(view: View, point: number, key: string): Promise<void> {
    const { viewer } = this;
    const { info, clip } = view.model;
    const values = await viewer.attempt(
      viewer.source.pointErrors(info.id, Math.max(clip, 0), point, viewer.rankOf(view)),
    );
    if (this.errors.key !== key || !values) return;
    this.errors.values = values;
    viewer.changed();
  }
}
