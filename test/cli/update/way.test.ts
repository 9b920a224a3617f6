import { describe, expect, it } from "vitest";
import { type PartOptions, wayOf } from "../../../cli/update/way";

const ALL = { fetch: true, wait: true, verify: true };
const NONE = { fetch: false, wait: false, verify: false };

/** The way in short: `engine`, `refused`, or the parts, with `?` where it asks. */
function way(atTerminal: boolean, parts: PartOptions, ...options: string[]): string {
  const found = wayOf({ parts, options, atTerminal });
  if (found.kind !== "whole") return found.kind;
  const named = (["fetch", "wait", "verify"] as const).filter((part) => found[part]);
  return `${named.join(" ") || "update"}${found.asks ? "?" : ""}`;
}

describe("the way of an update at a terminal", () => {
  it.each<[PartOptions, string[], string]>([
    [{}, [], "fetch wait verify?"],
    [{}, ["--yes"], "fetch wait verify"],
    [{}, ["--diff", "--refresh"], "fetch wait verify?"],
    [{ fetch: false }, [], "wait verify?"],
    [{ wait: false }, [], "fetch?"],
    [{ verify: false }, [], "fetch wait?"],
    [NONE, [], "update?"],
    [{ wait: false, verify: true }, [], "refused"],
    [{}, ["--non-interactive"], "engine"],
  ])("%j %j: %s", (parts, options, expected) => {
    expect(way(true, parts, ...options)).toBe(expected);
  });

  it.each(["--json", "-j", "--target=urn", "-t", "--preview-only", "--config", "-C"])(
    "is the engine's alone with %s, and no part can be asked for",
    (option) => {
      expect(way(true, {}, option)).toBe("engine");
      expect(way(true, NONE, option)).toBe("engine");
      expect(way(true, { wait: true }, option)).toBe("refused");
    },
  );
});

describe("the way of an update without a terminal", () => {
  it.each<[PartOptions, string[], string]>([
    [{}, [], "engine"],
    [{}, ["--yes"], "engine"],
    [NONE, ["--yes"], "engine"],
    [ALL, ["--yes"], "fetch wait verify"],
    [{ fetch: true }, ["-y"], "fetch"],
    [{ wait: true }, ["--yes=true"], "wait"],
    [{ verify: true }, ["--yes"], "wait verify"],
    [{ verify: true }, [], "refused"],
    [{ fetch: true }, ["--yes", "--exclude", "urn"], "refused"],
  ])("%j %j: %s", (parts, options, expected) => {
    expect(way(false, parts, ...options)).toBe(expected);
  });
});
