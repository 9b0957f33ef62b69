// Connection to the server: notices that it has stopped, that it is back, and that other pages are open.

/** Interval between requests, and the time after which one of them counts as unanswered. */
const [INTERVAL_MS, TIMEOUT_MS] = [700, 1800];
/** Number of successive unanswered requests after which the server counts as stopped. */
const MAX_UNANSWERED = 4;

export interface Alive {
  session: string;
  pages: number;
  assets: number;
  revision: number;
}

export interface ConnectionEvents {
  /** The server does not answer. */
  lost(): void;
  /** The server answers again; `restarted` if it is another run of it. */
  back(restarted: boolean): void;
  /** The number of open pages has changed. */
  pages(count: number): void;
}

export class Connection {
  online = true;
  pages = 1;
  /** Number of saves by all pages. */
  revision = 0;
  private readonly page = crypto.randomUUID();
  private unanswered = 0;
  private pending = false;

  constructor(
    private session: string,
    private readonly events: ConnectionEvents,
  ) {}

  start(): void {
    setInterval(() => void this.check(), INTERVAL_MS);
    void this.check();
  }

  /** Asks the server for its state. */
  async check(): Promise<void> {
    if (this.pending) return;
    this.pending = true;
    try {
      const response = await fetch(`api/alive?page=${this.page}`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
      this.take((await response.json()) as Alive);
    } catch (error) {
      // A busy machine may miss requests; a server that has stopped rejects the connection at once.
      this.unanswered++;
      const refused = (error as Error).name !== "TimeoutError";
      if (this.online && (refused || this.unanswered >= MAX_UNANSWERED)) {
        this.online = false;
        this.events.lost();
      }
    } finally {
      this.pending = false;
    }
  }

  private take({ session, pages, revision }: Alive): void {
    this.unanswered = 0;
    this.revision = revision;
    const restarted = session !== this.session;
    this.session = session;
    if (!this.online || restarted) {
      this.online = true;
      this.events.back(restarted);
    }
    if (pages !== this.pages) {
      this.pages = pages;
      this.events.pages(pages);
    }
  }
}
