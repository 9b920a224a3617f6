import { existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Fault } from "@local-serving/base/faults/fault";
import { PROGRAM_FOLDER } from "@local-serving/base/programFolder";

/** The page that describes each key of a stack file; it is part of a package, too. */
const PAGE = "docs/reference/stack-file.md";

/** Of more keys than these the page alone is named. */
const MOST_KEYS = 3;

/** Keys below which people choose names, which no address on the page has. */
const NAMED = ["machines", "inferenceServers"];

/**
 * A line that says where the reference describes the keys of a stack file's faults; none where no
 * fault is about one.
 */
export function keyReference(faults: readonly Fault[]): string[] {
  const page = join(PROGRAM_FOLDER, PAGE);
  if (!faults.some(isAboutStack) || !existsSync(page)) return [];
  const text = readFileSync(page, "utf8");
  const found = new Set(faults.filter(isAboutStack).flatMap((fault) => addressIn(text, fault)));
  const here = relative(process.cwd(), page);
  const shown = here.startsWith("..") ? page : here;
  if (found.size > MOST_KEYS) return [`Reference: ${shown}`];
  return found.size === 0
    ? []
    : [`Reference: ${[...found].map((key) => `${shown}#${key}`).join(", ")}`];
}

const isAboutStack = ({ path }: Fault): boolean => path.startsWith("machines.");

/** The address of a fault's key, or of the block that it is in if the page doesn't know the key. */
function addressIn(page: string, { path }: Fault): string[] {
  const keys = path.replaceAll(/\[\d+\]/g, "").split(".");
  const parts = keys.filter((key, at) => !NAMED.includes(keys[at - 1] ?? "") && !/^\d+$/.test(key));
  for (let length = parts.length; length > 1; length--) {
    const address = parts.slice(0, length).join(".");
    if (page.includes(`id="${address}"`)) return [address];
  }
  return [];
}
