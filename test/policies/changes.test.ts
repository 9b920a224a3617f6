import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { declaredResources } from "../../components/machine/declaredResources";
import { plan } from "../../components/plan/plan";
import { parseStackFile } from "../../components/settings/load";
import { placeOf } from "../../components/settings/places";
import { judge } from "../../policies/judge";
import { serverInput } from "../fixtures/machine";

/** What is refused of a server on a machine with an instance A, and the line of the stack file that it names. */
function refused(server: Record<string, unknown>, share = 0.45) {
  const dgx = {
    totalGiB: 121.63,
    instanceA: { gpuMemoryUtilization: share },
    inferenceServers: { b: serverInput(server) },
  };
  const text = stringify({ config: { "local-serving:machines": { dgx } } });
  const settings = parseStackFile("Pulumi.dgx.yaml", text);
  const resources = declaredResources(plan(settings, { home: "/home/me" }));
  const verdicts = judge(resources, {}, (path) => placeOf(settings, path));
  expect(verdicts.filter(({ verdict, path }) => verdict === "pass" && path !== undefined)).toEqual([]);
  return verdicts
    .filter(({ verdict }) => verdict === "refused")
    .map(({ name, path, line, value, message }) => ({
      found: [name, path, value],
      line: text.split("\n")[(line ?? 0) - 1]?.trim(),
      says: message.slice(message.lastIndexOf(" In the stack file")).replace(/line \d+/, "line N"),
    }));
}

const B = "machines.dgx.inferenceServers.b";

describe("a refusal", () => {
  it("says path, line and new value of the stack file beside the flag", () => {
    const says = ` In the stack file, line N: \`${B}.gpuMemoryUtilization: 0.3\`.`;
    const found = [`${B}.gpuMemoryUtilization`, 0.3] as const;
    const line = "gpuMemoryUtilization: 0.6";
    expect(refused({ gpuMemoryUtilization: 0.6 }, 0.6)).toEqual([
      { found: ["aggregate-utilization", ...found], line, says },
      { found: ["memory-sum", ...found], line, says },
    ]);
    expect(refused({ gpuMemoryUtilization: 0.3 }, 0.6)).toEqual([]);
  });

  it("of a server that can't start says the share with which it can", () => {
    const model = { id: "org/model", family: "qwen3", weightsGB: 40 };
    expect(refused({ model, gpuMemoryUtilization: 0.2 })).toEqual([
      {
        found: ["server-starts", `${B}.gpuMemoryUtilization`, 0.31],
        line: "gpuMemoryUtilization: 0.2",
        says: ` In the stack file, line N: \`${B}.gpuMemoryUtilization: 0.31\`.`,
      },
    ]);
    expect(refused({ model, gpuMemoryUtilization: 0.31 })).toEqual([]);
  });

  it("of an unknown name says the nearest", () => {
    const tools = { tools: { parser: "qwen3_codr" } };
    expect(refused(tools)).toEqual([
      {
        found: ["engine-names", `${B}.tools.parser`, "qwen3_coder"],
        line: "parser: qwen3_codr",
        says: ` In the stack file, line N: \`${B}.tools.parser: qwen3_coder\`.`,
      },
    ]);
    expect(refused({ tools: { parser: "qwen3_coder" } })).toEqual([]);
  });

  it("names no setting where none would help", () => {
    const tight = refused(
      { model: { id: "org/model", family: "qwen3", weightsGB: 80 }, gpuMemoryUtilization: 0.7 },
      0.6,
    );
    expect(tight.map(({ found }) => found)).toEqual([
      ["aggregate-utilization", undefined, undefined],
      ["memory-sum", undefined, undefined],
    ]);
  });
});
