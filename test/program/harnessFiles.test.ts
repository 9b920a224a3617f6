import { beforeAll, describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { Machine } from "../../components/program/machine/machine";
import { stack } from "../fixtures/machine";
import { type Recorded, record } from "./record";

const planned = plan(stack({ harness: {} }), { home: "/home/me" });
const files = planned.machines[0]?.files.filter(({ role }) => role.startsWith("harness-")) ?? [];
let recorded: Recorded[] = [];
beforeAll(async () => {
  recorded = await record(() => {
    for (const machine of planned.machines)
      new Machine({ machine, dockerHost: machine.dockerHost });
  });
});
const inputsOf = (type: string, name: string) =>
  recorded.find((each) => each.type === type && each.name === name)?.inputs;

describe("the program for a machine with a harness", () => {
  it("registers the component and a command for each file, before the applied plan", () => {
    const names = recorded.map(({ type, name }) => `${type.split(":").at(-1)} ${name}`);
    expect(names.filter((name) => name.includes("harness")).sort()).toEqual([
      "Command dgx-harness-analytics",
      "Command dgx-harness-providers",
      "HarnessFiles dgx-harness-files",
      "HostFile dgx-harness-analytics",
      "HostFile dgx-harness-providers",
    ]);
    expect(names.indexOf("Command dgx-applied-plan")).toBeGreaterThan(
      names.indexOf("Command dgx-harness-analytics"),
    );
    expect(inputsOf("local-serving:index:HarnessFiles", "dgx-harness-files")).toEqual({
      machine: "dgx",
      files: ["/home/me/.hx/providers.toml", "/home/me/.hx/session-analytics.json"],
    });
  });

  it("writes the planned text as the operator, and undoes it the same way", () => {
    expect(files).toHaveLength(2);
    for (const { role, path, text } of files) {
      const command = inputsOf("command:local:Command", `dgx-${role}`);
      expect(command).toMatchObject({
        create: 'sh -c "$HOST_FILE_SCRIPT" host-file write',
        delete: 'sh -c "$HOST_FILE_SCRIPT" host-file restore',
      });
      const [header = "", ...content] = String(command?.stdin).split("\n\n");
      expect(header.split("\n").slice(0, 3)).toEqual([
        "host-file 1",
        `path: ${path}`,
        "mode: 0600",
      ]);
      expect(content.join("\n\n")).toBe(text);
    }
  });
});
