import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HERE } from "@local-serving/machines/address";
import { readRecord, recordPathOn } from "@local-serving/machines/update/readRecord";
import { recordIn, recordText } from "@local-serving/machines/update/record";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FAILED, UNDER_WAY } from "../../fixtures/update";
import { temporaryFolder } from "../../layers/temporaryFolder";

const RECORD = { underWay: UNDER_WAY, failed: FAILED };
const TEXT = recordText(RECORD) ?? "";
const PATH = "/state/dgx/update.json";
const REMOVE =
  "This file says whether an update by `serving up --verified` is under way or was put back. To continue without that knowledge, remove it.";

describe("the record of an update", () => {
  it.each([[RECORD], [{ underWay: UNDER_WAY }], [{ failed: FAILED }]])(
    "is read as it was written",
    (record) => {
      expect(recordIn(recordText(record) ?? "", PATH)).toEqual(record);
    },
  );

  it("is no file where there is nothing to keep", () => {
    expect(recordText({})).toBeUndefined();
  });

  it("is unreadable where any of it is cut off, and never misread", () => {
    fc.assert(
      fc.property(fc.nat(TEXT.trimEnd().length - 1), (length) => {
        const read = recordIn(TEXT.slice(0, length), PATH);
        expect(Object.keys(read)).toEqual(["unreadable"]);
      }),
    );
  });

  it.each([
    ["{}", `${PATH} can't be read (version: This key is required (a whole number).). ${REMOVE}`],
    ["", `${PATH} can't be read (it isn't JSON). ${REMOVE}`],
    [
      '{"version": 2, "underWay": 7}',
      `${PATH} was written by a newer local-serving (version 2). ${REMOVE}`,
    ],
  ])("says why it can't be read: %s", (text, unreadable) => {
    expect(recordIn(text, PATH)).toEqual({ unreadable });
  });

  it("is read without keys that this version doesn't know", () => {
    const more = JSON.stringify({ ...JSON.parse(TEXT), later: 1 });
    expect(recordIn(more, PATH)).toEqual(RECORD);
  });

  it("lies beside the applied plan", async () => {
    const folder = temporaryFolder("update-record-");
    const path = join(folder, "dgx/applied-plan.json");
    const machine = { dockerHost: HERE, files: [{ role: "applied-plan", path }] };
    expect(recordPathOn(machine)).toBe(join(folder, "dgx/update.json"));
    expect(await readRecord(machine)).toEqual({});
    mkdirSync(join(folder, "dgx"));
    writeFileSync(join(folder, "dgx/update.json"), TEXT);
    expect(await readRecord(machine)).toEqual(RECORD);
  });
});
