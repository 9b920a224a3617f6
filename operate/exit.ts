/** Exit codes of every command; scripts rely on them. */
export const EXIT = {
  /** Everything is in order. */
  fine: 0,
  /** Faults were found, or something was refused. */
  faults: 1,
  /** The command was used wrongly, or a file can't be read. */
  wrongUse: 2,
} as const;

/** A mistake in how a command was called; its message is all that the user sees. */
export class WrongUse extends Error {
  override readonly name = "WrongUse";
}

/** Something outside of us that a command needs could not be had; its message says what to do. */
export class Failed extends Error {
  override readonly name = "Failed";
}
