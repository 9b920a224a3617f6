/**
 * Stands for the module "vitest" in the bundle of the tests: it collects them instead of running
 * them.
 */

/** One test, ready to run. */
export interface Collected {
  readonly name: string;
  readonly run: () => unknown;
}

/** Given by whoever evaluates the bundle. */
declare const __collect: (test: Collected) => void;
declare const __expect: typeof import("vitest").expect;

export const expect = __expect;

const names: string[] = [];

function group(name: string, body: () => void): void {
  names.push(name);
  body();
  names.pop();
}

function test(name: string, run: () => unknown): void {
  __collect({ name: [...names, name].join(" > "), run });
}

/** For each case: a list is spread over the parameters. */
const each =
  <T>(declare: (name: string, body: () => T) => void) =>
  (cases: readonly unknown[]) =>
  (name: string, body: (...given: readonly unknown[]) => T): void => {
    for (const [index, given] of cases.entries())
      declare(`${name} (${index + 1})`, () => body(...(Array.isArray(given) ? given : [given])));
  };

export const describe = Object.assign(group, { each: each(group) });
export const it = Object.assign(test, { each: each(test) });
