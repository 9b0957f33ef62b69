// Undo and redo of all edits: displaced and smoothed rest poses, painted attributes, and the thickness of flesh.

/** A change that can be reverted and repeated. */
export interface Step {
  /** Name, as in "Undone: NAME". */
  name: string;
  /** Memory that it needs. */
  bytes: number;
  undo(): void;
  redo(): void;
}

/** Maximum number of steps, and of the memory of all of them. */
const [MAX_STEPS, MAX_BYTES] = [400, 512e6];

export class History {
  private readonly done: Step[] = [];
  private readonly undone: Step[] = [];

  constructor(
    private readonly changed: () => void,
    private readonly say: (text: string) => void,
  ) {}

  get canUndo(): boolean {
    return this.done.length > 0;
  }

  get canRedo(): boolean {
    return this.undone.length > 0;
  }

  /** Adds a change that has been made. */
  add(step: Step): void {
    this.done.push(step);
    this.undone.length = 0;
    const bytes = (): number => this.done.reduce((sum, { bytes }) => sum + bytes, 0);
    while (this.done.length > 1 && (this.done.length > MAX_STEPS || bytes() > MAX_BYTES)) this.done.shift();
    this.changed();
  }

  undo(): void {
    this.move(this.done, this.undone, "undo", "Undone");
  }

  redo(): void {
    this.move(this.undone, this.done, "redo", "Redone");
  }

  private move(from: Step[], to: Step[], act: "undo" | "redo", word: string): void {
    const step = from.pop();
    if (!step) {
      this.say(`There is nothing to ${act}`);
      return;
    }
    step[act]();
    to.push(step);
    this.say(`${word}: ${step.name}`);
    this.changed();
  }
}
