import { Readable } from "node:stream";

/** Sets a property, and returns what puts the old one back. */
function replaced(owner: object, key: string, value: unknown): () => void {
  const before = Object.getOwnPropertyDescriptor(owner, key);
  Object.defineProperty(owner, key, { value, configurable: true });
  return () => {
    if (before === undefined) Reflect.deleteProperty(owner, key);
    else Object.defineProperty(owner, key, before);
  };
}

/** Does some work at a terminal, where somebody types these lines. */
export async function atKeyboard<Result>(
  answers: readonly string[],
  work: () => Promise<Result>,
): Promise<Result> {
  const lines = [...answers];
  // Each line comes by itself, as from a keyboard.
  const keyboard = new Readable({
    read: () =>
      setImmediate(() => {
        const line = lines.shift();
        keyboard.push(line === undefined ? null : `${line}\n`);
      }),
  });
  const stdin = Object.assign(keyboard, { isTTY: true });
  const restore = [replaced(process, "stdin", stdin), replaced(process.stderr, "isTTY", true)];
  try {
    return await work();
  } finally {
    for (const each of restore) each();
  }
}
