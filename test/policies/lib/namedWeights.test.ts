import { describe, expect, it } from "vitest";
import { TYPE } from "../../../components/planned/type";
import { withPlainProps } from "../../../policies/lib/container";
import { tooLarge, tooLargeByName } from "../../../policies/lib/namedWeights";
import { declared, serving } from "../declared";

/** What is said of a container on a machine with so much memory; `undefined` for one of no size. */
const said = (command: readonly string[], totalGiB?: number) =>
  tooLargeByName({
    machine: "dgx",
    containers: [withPlainProps(serving(...command))],
    hostInstances: [],
    serverRecords: [],
    onDemand: [],
    component: declared(TYPE.machine, "dgx", totalGiB === undefined ? {} : { totalGiB }),
  }).map(({ message }) => message);

const FULL = ["org/M-70B"];
const NAMED = "70B parameters of 16 bits, by its name";
/** The parameters are counted 7 % lower than they are written, at 2 bytes each. */
const FULL_GIB = (70 * (1 - 0.07) * 2 * 1e9) / 2 ** 30;

describe("a model whose name says that it is too large", () => {
  it.each<[string, readonly string[], number, number, string]>([
    ["alone", FULL, 121, FULL_GIB, NAMED],
    [
      "though it is quantized while it loads",
      [...FULL, "--quantization", "fp8"],
      60,
      FULL_GIB / 2,
      `${NAMED}, with --quantization fp8`,
    ],
    [
      "though GPUs share its weights",
      [...FULL, "--tensor-parallel-size", "2", "--pipeline-parallel-size", "4"],
      15,
      FULL_GIB / 8,
      `${NAMED}, on each of 8 ranks`,
    ],
  ])("is refused %s", (_, command, totalGiB, gib, source) => {
    expect(said(command, totalGiB)).toEqual([`b doesn't fit: ${tooLarge(gib, source, totalGiB)}`]);
  });

  it.each<[string, readonly string[], number | undefined]>([
    ["of exactly the machine's size", FULL, FULL_GIB],
    ["that a machine of no known size may hold", FULL, undefined],
    ["whose config is overridden", [...FULL, "--hf-overrides", "{}"], 10],
    ["whose name says no size", ["org/model"], 10],
    ["without a name", ["--port", "8001"], 10],
  ])("passes one %s", (_, command, totalGiB) => {
    expect(said(command, totalGiB)).toEqual([]);
  });
});
