/** A server or service at one moment. */
export interface ItemStatus {
  readonly key: string;
  /** `ready`, or Docker's word for its container, the phase of its start, `not there` ... */
  readonly state: string;
  readonly well: boolean;
  /** Figures of the phase, or what the start gate says. */
  readonly note?: string;
  /** Seconds since its container started, or ended. */
  readonly seconds?: number;
  readonly figures?: ServerFigures;
}

/**
 * What a server does, by its own metrics. Shares are from 0 to 1, `null` where nothing tells them.
 */
export interface ServerFigures {
  readonly kvUse: number | null;
  readonly running: number | null;
  readonly waiting: number | null;
  /** Tokens that it wrote between two looks, per second. */
  readonly tokensPerSecond: number | null;
  /**
   * Share of the prompts' tokens that the prefix cache had, since its start; `null` before the
   * first.
   */
  readonly prefixHits: number | null;
  /** Tokens of all prompts and of all answers since its start. */
  readonly tokensRead: number | null;
  readonly tokensWritten: number | null;
}
