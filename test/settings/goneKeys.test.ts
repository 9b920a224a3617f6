import { describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { parseStackFile } from "../../components/settings/load";
import { STACK_TEXT } from "../cli/doctor/stack";

/** The stack file with another line below its server. */
const ofServer = (line: string) =>
  STACK_TEXT.replace("          maxNumSeqs: 16\n", `          maxNumSeqs: 16\n          ${line}\n`);

const parsed = (text: string) => parseStackFile("Pulumi.dgx.yaml", text);
const planned = (text: string) => plan(parsed(text), { home: "/home/me" });
const notesOf = (text: string) =>
  planned(text).warnings.filter(({ code }) => code === "setting-gone");

/** The stack file with llama-swap, and with more of it. */
const onDemand = (more: string) =>
  STACK_TEXT.replace(
    "      instanceA:",
    `      onDemand: { program: { version: v250 }${more} }\n      instanceA:`,
  ).replace("          maxNumSeqs: 16\n", "          maxNumSeqs: 16\n          start: onRequest\n");

/** A machine without a server. */
const bare = (device: string) =>
  `config:\n  local-serving:machines:\n    dgx: { totalGiB: 62.5, device: ${device}, instanceA: none }\n`;

describe("a key of an earlier release that changes nothing", () => {
  it.each([
    [
      onDemand(", measuredSwaps: { swaps: 20, lostGiB: 3, at: 2026-11-27 }"),
      onDemand(""),
      "`onDemand.measuredSwaps` is gone and does nothing: delete it. `serving status` shows MemAvailable: compare it before and after some starts.",
    ],
    [
      onDemand(", swapsPerHour: 30"),
      onDemand(""),
      "`onDemand.swapsPerHour` is gone and does nothing: delete it. `serving status` marks more than 12 starts in an hour.",
    ],
    [
      ofServer("flashinferMoeFp4: false"),
      STACK_TEXT,
      "`inferenceServers.b.flashinferMoeFp4` is gone and does nothing: delete it. vLLM ignores the variable since 0.24: `moeBackend` chooses the kernels.",
    ],
    [
      ofServer("flashinferMoeFp4: true"),
      ofServer('environment: { VLLM_USE_FLASHINFER_MOE_FP4: "1" }'),
      "`inferenceServers.b.flashinferMoeFp4: true` is read as `environment.VLLM_USE_FLASHINFER_MOE_FP4: 1`. Write that. vLLM ignores the variable since 0.24: `moeBackend` chooses the kernels.",
    ],
    [
      ofServer("distributedTimeoutSeconds: 1800"),
      STACK_TEXT,
      "`inferenceServers.b.distributedTimeoutSeconds` is gone and does nothing: delete it. The ranks of a server wait 1800 s for each other.",
    ],
    ...["geforce", "strix-halo", "none"].map((device): [string, string, string] => [
      bare(device),
      bare("other"),
      `\`device: ${device}\` is read as \`device: other\`. Write that. No vLLM is planned on such machines, so they need no names of their own.`,
    ]),
  ])("is read, and answered by a note of the plan", (text, today, message) => {
    expect(notesOf(text)).toEqual([{ machine: "dgx", code: "setting-gone", message, note: true }]);
    expect(planned(text).machines).toEqual(planned(today).machines);
  });

  it("is not there by itself", () => {
    expect(notesOf(STACK_TEXT)).toEqual([]);
    expect(() => parsed(onDemand(", measured: {}"))).toThrow("Unknown key `measured`");
  });
});

describe("a key of an earlier release whose value is no more", () => {
  it.each([
    [
      "distributedTimeoutSeconds: 600",
      "`inferenceServers.b.distributedTimeoutSeconds` is gone: delete it. The next `serving up` replaces the server, which runs with it. The ranks of a server wait 1800 s for each other.",
    ],
  ])("is a warning, and the plan is that without it: %s", (line, message) => {
    const { machines, warnings } = planned(ofServer(line));
    expect(machines).toEqual(planned(STACK_TEXT).machines);
    expect(warnings.filter(({ code }) => code === "setting-dropped")).toEqual([
      { machine: "dgx", code: "setting-dropped", message },
    ]);
  });
});
