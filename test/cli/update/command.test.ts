import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fingerprintOfText } from "@local-serving/machines/update/fingerprint";
import { recordText, type UpdateRecord } from "@local-serving/machines/update/record";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { stackInput } from "../../fixtures/machine";
import { FAILED, UNDER_WAY } from "../../fixtures/update";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { runServing } from "../runServing";

const TEXT = stringify({ config: { "local-serving:machines": stackInput().machines } });
const settings = fingerprintOfText(TEXT) ?? "";

/** Runs a command beside a home that has this record. */
async function serving(record: UpdateRecord, ...args: string[]) {
  const home = temporaryFolder("update-command-");
  const file = join(home, "Pulumi.dgx.yaml");
  writeFileSync(file, TEXT);
  const folder = join(home, ".local/share/local-serving/dgx");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "update.json"), recordText(record) ?? "");
  return runServing([...args, "--file", file], { HOME: home });
}

describe("serving plan", () => {
  it("says first that the settings were tried and put back", async () => {
    const { code, err, out } = await serving({ failed: { ...FAILED, settings } }, "plan");
    expect([code, out.includes("Nothing is refused")]).toEqual([0, true]);
    expect(err).toMatch(
      /^This stack file was tried on 2026-11-24 16:25 UTC and put back: dgx\.b chat-tools failed/,
    );
  });

  it("says nothing of other settings", async () => {
    const { err } = await serving({ failed: FAILED }, "plan");
    expect(err).toBe("");
  });

  it("says that an update is under way", async () => {
    const { err } = await serving({ underWay: UNDER_WAY }, "plan");
    expect(err).toMatch(/^An update by `serving up --verified` has been under way since/);
  });
});

describe("serving up --verified", () => {
  it.each<[string[], string]>([
    [["--verified"], "Without a terminal nobody can say yes: add --yes.\n"],
    ...[
      ...["--config-file", "--preview-only", "--target", "--target=urn", "-t", "-yturn"],
      ...["--exclude", "--target-replace", "-c", "--config=key=value", "-C", "--cwd"],
    ].map((option): [string[], string] => [
      ["--verified", "--yes", option, "x"],
      `${option}: not possible with --verified, which applies the stack's own file as a whole.\n`,
    ]),
  ])("refuses what it can't do: %j", async (options, said) => {
    const { code, err } = await runServing(["up", "--stack", "dgx", ...options]);
    expect([code, err]).toEqual([2, said]);
  });
});
