import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fingerprintOfText } from "@local-serving/machines/update/fingerprint";
import { recordPathOn } from "@local-serving/machines/update/readRecord";
import { describe, expect, it, vi } from "vitest";
import { stringify } from "yaml";
import { readStack } from "../../../cli/stack/readStack";
import { forward } from "../../../cli/update/forward";
import { isAsPlanned, type Task, writeDown } from "../../../cli/update/task";
import { stackInput } from "../../fixtures/machine";
import { planned } from "../../fixtures/services";
import { FAILED, UNDER_WAY } from "../../fixtures/update";
import { temporaryFolder } from "../../layers/temporaryFolder";

const textOf = (totalGiB: number) => {
  const { machines } = stackInput();
  const [[name = "", machine] = []] = Object.entries(machines);
  return stringify({ config: { "local-serving:machines": { [name]: { ...machine, totalGiB } } } });
};

/** An update of a stack file that is planned. */
function task(): Task {
  const file = join(temporaryFolder("update-forward-"), "Pulumi.dgx.yaml");
  writeFileSync(file, textOf(121));
  return {
    ...{ stack: "dgx", options: [], failed: FAILED, signal: new AbortController().signal },
    now: readStack(file),
    settings: fingerprintOfText(textOf(121)) ?? "",
    keeper: planned({ stateDirectory: temporaryFolder("update-forward-state-") }),
  };
}

const recordOf = ({ keeper }: Task): unknown =>
  JSON.parse(readFileSync(recordPathOn(keeper), "utf8"));

describe("a stack file that was edited after its plan was said", () => {
  it("is not applied, and nothing is under way", async () => {
    const update = task();
    const { startedAt, passed, parts } = UNDER_WAY;
    const begun = { startedAt, passed, parts, resumed: false };
    await writeDown(update, "before", begun);
    writeFileSync(update.now.file, textOf(120));
    const said = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    const code = await forward(update, { why: "", refuses: false }, begun);
    const [text] = said.mock.calls.flat();
    said.mockRestore();
    expect([code, text]).toEqual([
      1,
      `${update.now.file} has other settings now than when it was planned. Nothing more was changed: \`serving up --verified\` plans the present ones.\n`,
    ]);
    expect(recordOf(update)).toMatchObject({ failed: FAILED });
    expect(recordOf(update)).not.toHaveProperty("underWay");
  });

  it("stays under way where an update that was broken off is finished", async () => {
    const update = task();
    const { startedAt, passed, parts } = UNDER_WAY;
    const begun = { startedAt, passed, parts, resumed: true };
    await writeDown(update, "forward", begun);
    writeFileSync(update.now.file, textOf(120));
    const said = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    expect(await forward(update, { why: "", refuses: false }, begun)).toBe(1);
    said.mockRestore();
    expect(recordOf(update)).toMatchObject({ underWay: { step: "forward" } });
  });

  it("is as planned where its comments and the engine's own keys changed", () => {
    const update = task();
    writeFileSync(update.now.file, `encryptionsalt: v1:x\n# mine\n${textOf(121)}`);
    expect(isAsPlanned(update)).toBe(true);
  });
});
