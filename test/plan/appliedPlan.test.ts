import { describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { stack } from "../fixtures/machine";

const evidence = { home: "/home/me" };
const machineOf = (...args: Parameters<typeof stack>) => {
  const [machine] = plan(stack(...args), evidence).machines;
  if (machine === undefined) throw new Error("no machine planned");
  return machine;
};
const applied = (machine: ReturnType<typeof machineOf>) =>
  machine.files.filter((file) => file.role === "applied-plan");

describe("the applied plan", () => {
  it("is one file of the machine's state directory", () => {
    expect(applied(machineOf()).map(({ path, mode }) => [path, mode])).toEqual([
      ["/home/me/.local/share/local-serving/dgx/applied-plan.json", "0600"],
    ]);
    expect(applied(machineOf({ stateDirectory: "/srv/state" }))[0]?.path).toBe(
      "/srv/state/dgx/applied-plan.json",
    );
  });

  it("holds the whole plan of the machine but itself, keys in order", () => {
    const machine = machineOf({ simpleServer: { mode: "host" } });
    const text = applied(machine)[0]?.text ?? "";
    const read = JSON.parse(text) as { machine: typeof machine };
    expect(read.machine).toEqual({
      ...machine,
      files: machine.files.filter((file) => file.role !== "applied-plan"),
    });
    expect(read.machine.files.map((file) => file.role)).toEqual([
      "start-gate",
      "simple-server-dropin",
    ]);
    expect(Object.keys(read.machine)).toEqual(Object.keys(read.machine).sort());
    expect(text.endsWith("}\n")).toBe(true);
  });

  it("is the same text for the same settings, and another for others", () => {
    expect(applied(machineOf())).toEqual(applied(machineOf()));
    expect(applied(machineOf({}, { gpuMemoryUtilization: 0.44 }))[0]?.text).not.toBe(
      applied(machineOf())[0]?.text,
    );
  });
});

describe("a Hugging Face token", () => {
  const machine = machineOf({}, { huggingFaceTokenVariable: "MY_HF_TOKEN" });
  const [server] = machine.containers;
  const path = "/home/me/.local/share/local-serving/dgx/secrets/b-hugging-face-token";

  it("is a file of mode 0600, known by the name of its variable alone", () => {
    expect(machine.secretFiles).toEqual([
      {
        ...{
          role: "hugging-face-token-b",
          resource: "dgx-b-token",
          partOf: "dgx-b",
          purpose: "Hugging Face token of b.",
        },
        ...{ path, mode: "0600", variable: "MY_HF_TOKEN" },
      },
    ]);
    expect(server?.secretEnv).toEqual(["MY_HF_TOKEN"]);
  });

  it("is mounted read-only where huggingface_hub is told to read it", () => {
    expect(server?.mounts.at(-1)).toEqual({
      type: "bind",
      source: path,
      target: "/run/secrets/hugging-face-token",
      readOnly: true,
    });
    expect(server?.env.HF_TOKEN_PATH).toBe("/run/secrets/hugging-face-token");
    expect(Object.keys(server?.env ?? {})).toEqual(Object.keys(server?.env ?? {}).sort());
  });

  it("stays out of the plan altogether, whatever the shell holds", () => {
    process.env.MY_HF_TOKEN = "hf_NoOutputMayHoldThis";
    const text = JSON.stringify(machineOf({}, { huggingFaceTokenVariable: "MY_HF_TOKEN" }));
    delete process.env.MY_HF_TOKEN;
    expect(text).not.toContain("hf_NoOutputMayHoldThis");
  });

  it("leaves no trace where none is asked for", () => {
    expect(machineOf().secretFiles).toEqual([]);
    expect(JSON.stringify(machineOf())).not.toContain("hugging-face-token");
  });
});
