// Edits of all tools: their history, which of them are saved, and drafts of those that are not.

import type { Model } from "../gpu/model";
import type { Viewer } from "../viewer";
import { type Draft, draftKey, Drafts } from "./drafts";
import { History } from "./history";

/** Delay between a change and its draft, in milliseconds. */
const DRAFT_DELAY_MS = 250;

/** A tool whose edits of a model can be kept as a draft. */
export interface Editor {
  /** Adds the edits of a model to a draft. */
  fill(model: Model, draft: Draft): void;
  /** Repeats the edits of a draft. Returns true if there are any. */
  restore(model: Model, draft: Draft): boolean;
}

export class Edits {
  readonly history: History;
  private readonly drafts = new Drafts();
  private readonly editors: Editor[] = [];
  private readonly keys = new Map<Model, string>();
  private readonly timers = new Map<Model, number>();
  /** Identity of the current and of the saved state of each model; 0 is that of the file. */
  private readonly current = new Map<Model, number>();
  private readonly saved = new Map<Model, number>();
  private last = 0;

  constructor(private readonly viewer: Viewer) {
    this.history = new History(
      () => viewer.changed(),
      (text) => viewer.say(text),
    );
    window.addEventListener("beforeunload", (event) => {
      if (this.unsaved.length > 0) event.preventDefault();
    });
  }

  addEditor(editor: Editor): void {
    this.editors.push(editor);
  }

  /** Models with edits that have not been saved. */
  get unsaved(): Model[] {
    return [...this.current.keys()].filter((model) => !this.isSaved(model));
  }

  isSaved(model: Model): boolean {
    return (this.current.get(model) ?? 0) === (this.saved.get(model) ?? 0);
  }

  /** Records a change that has been made to a model. */
  record(model: Model, name: string, bytes: number, undo: () => void, redo: () => void): void {
    const before = this.current.get(model) ?? 0;
    const after = ++this.last;
    this.enter(model, after);
    this.history.add({
      name,
      bytes,
      undo: () => {
        undo();
        this.enter(model, before);
      },
      redo: () => {
        redo();
        this.enter(model, after);
      },
    });
  }

  /** Notes that the current state of a model has been saved. */
  markSaved(model: Model): void {
    this.saved.set(model, this.current.get(model) ?? 0);
    this.keepDraft(model);
    this.viewer.changed();
  }

  /** Restores unsaved edits of a model that has just been loaded. */
  async restore(model: Model): Promise<void> {
    const key = draftKey(model, model.rest);
    this.keys.set(model, key);
    const draft = await this.drafts.read(key).catch(() => null);
    if (!draft) return;
    const restored = this.editors.filter((editor) => editor.restore(model, draft));
    if (restored.length === 0) return;
    const when = new Date(draft.when).toLocaleTimeString("en-GB");
    this.viewer.say(`Unsaved edits of ${model.info.label} from ${when} are restored; Ctrl Z removes them`);
    this.viewer.changed();
  }

  private enter(model: Model, state: number): void {
    this.current.set(model, state);
    this.keepDraft(model);
  }

  /** Stores the edits of a model, or removes its draft if they are saved. */
  private keepDraft(model: Model): void {
    const key = this.keys.get(model);
    if (key === undefined) return;
    clearTimeout(this.timers.get(model));
    const keep = async (): Promise<void> => {
      const draft: Draft = { rest: null, paint: null, strokes: [], when: Date.now() };
      for (const editor of this.editors) editor.fill(model, draft);
      if (this.isSaved(model)) await this.drafts.remove(key);
      else await this.drafts.write(key, draft);
    };
    const failed = (): void => this.viewer.say("This browser does not keep unsaved edits: save before a reload", true);
    this.timers.set(model, window.setTimeout(() => void keep().catch(failed), DRAFT_DELAY_MS));
  }
}
