import { sha256 } from "@local-serving/machines/shell";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HostFile } from "../../components/host/hostFile";
import { plan } from "../../components/plan/plan";
import { declaredResources } from "../../components/program/machine/declaredResources";
import { Machine } from "../../components/program/machine/machine";
import { loadStackFile } from "../../components/settings/load";
import { stack } from "../fixtures/machine";
import { type Recorded, record } from "./record";

const TOKEN = "hf_NoOutputMayHoldThis";
/** Mark of a secret in what the engine is sent. */
const SECRET = "1b47061264138c4ac30d75fd1eb44270";
const planned = plan(
  stack(
    {
      elevate: ["sudo", "-n"],
      simpleServer: { mode: "host", models: ["qwen3:8b", "hf.co/org/model:Q4"], pull: true },
    },
    { huggingFaceTokenVariable: "TEST_HF_TOKEN" },
  ),
  { home: "/home/me" },
);
const [machine] = planned.machines;
const dropIn = machine?.files.find((file) => file.role === "simple-server-dropin");

let recorded: Recorded[] = [];
beforeAll(async () => {
  process.env.TEST_HF_TOKEN = TOKEN;
  recorded = await record(() => {
    for (const each of planned.machines)
      new Machine({ machine: each, dockerHost: each.dockerHost });
  });
});
afterAll(() => {
  delete process.env.TEST_HF_TOKEN;
});
const command = (name: string) =>
  recorded.find((each) => each.type === "command:local:Command" && each.name === name)?.inputs;

describe("the program for a machine with host files", () => {
  it("registers one command for each step and no other", () => {
    expect(
      recorded
        .filter((each) => each.type === "command:local:Command")
        .map((each) => each.name)
        .sort(),
    ).toEqual([
      "dgx-applied-plan",
      "dgx-b-model-cache",
      "dgx-b-token",
      "dgx-simple-server-drop-in",
      "dgx-simple-server-drop-in-after-removal",
      "dgx-simple-server-drop-in-check",
      "dgx-simple-server-drop-in-restart",
      "dgx-simple-server-pull-hf.co/org/model:Q4",
      "dgx-simple-server-pull-qwen3:8b",
      "dgx-start-gate",
    ]);
  });

  it("gives its components the inputs that the policies of `serving plan` judge", () => {
    for (const each of declaredResources(planned)) {
      const found = recorded.find((other) => other.type === each.type && other.name === each.name);
      expect(found?.inputs, `${each.type} ${each.name}`).toEqual(each.props);
    }
  });

  it("writes the drop-in as root, everything in stdin, and undoes it the same way", () => {
    const urn =
      "urn:pulumi:test::local-serving::local-serving:index:HostFile::dgx-simple-server-drop-in";
    expect(command("dgx-simple-server-drop-in")).toEqual({
      create: 'sudo -n sh -c "$HOST_FILE_SCRIPT" host-file write',
      delete: 'sudo -n sh -c "$HOST_FILE_SCRIPT" host-file restore',
      stdin: expect.stringContaining(`\n\n${dropIn?.text}`),
      environment: {
        HOST_FILE_SCRIPT: expect.stringContaining("write_file"),
        HOST_FILE_PATH: dropIn?.path,
      },
      addPreviousOutputInEnv: false,
    });
    const header = String(command("dgx-simple-server-drop-in")?.stdin)
      .split("\n\n")[0]
      ?.split("\n");
    expect(header?.slice(0, 3)).toEqual(["host-file 1", `path: ${dropIn?.path}`, "mode: 0644"]);
    expect(header?.[3]).toBe(`bytes: ${dropIn?.text.length}`);
    expect(header?.[4]).toMatch(new RegExp(`^holder: ${urn.split("::").slice(0, 2).join("::")}`));
  });

  it("restarts by the text's hash alone, and once more when the drop-in is gone", () => {
    const restart = 'sudo -n systemctl daemon-reload && sudo -n systemctl restart -- "$UNIT"';
    expect(command("dgx-simple-server-drop-in-restart")).toEqual({
      create: restart,
      environment: { UNIT: "ollama.service", DROP_IN_SHA256: sha256(dropIn?.text ?? "") },
      addPreviousOutputInEnv: false,
    });
    expect(command("dgx-simple-server-drop-in-after-removal")).toEqual({
      delete: restart,
      environment: { UNIT: "ollama.service" },
      addPreviousOutputInEnv: false,
    });
  });

  it("pulls as nobody in particular, and removes no model", () => {
    expect(command("dgx-simple-server-pull-qwen3:8b")).toEqual({
      create: 'sh -c "$PULL_MODEL"',
      environment: {
        PULL_MODEL: expect.stringContaining("/api/pull"),
        MODEL: "qwen3:8b",
        BASE_URL: "http://127.0.0.1:11434",
        ANSWER_WITHIN_SECONDS: "20",
      },
      addPreviousOutputInEnv: false,
    });
  });

  it("hands the token to one file as a secret, and to nothing else", () => {
    const { stdin, ...rest } = command("dgx-b-token") ?? {};
    expect(stdin).toMatchObject({ "4dabf18193072939515e22adb298388d": SECRET });
    expect(JSON.stringify(stdin)).toContain(`mode: 0600`);
    expect(JSON.stringify(stdin)).toContain(TOKEN);
    const others = recorded.filter((each) => each.inputs !== command("dgx-b-token"));
    expect(JSON.stringify([rest, others])).not.toContain(TOKEN);
    expect(JSON.stringify([rest, others])).not.toContain(sha256(TOKEN));
  });
});

describe("one changed byte", () => {
  const sample = plan(loadStackFile("Pulumi.dgx.yaml"), { home: "/home/me" });
  const files = sample.machines.flatMap((each) => [
    ...each.files,
    ...each.clients.flatMap((client) => client.files),
  ]);
  const commandOf = async (file: (typeof files)[number], text: string) => {
    const made = await record(() => new HostFile(file.resource, { file: { ...file, text } }));
    return made.find(({ type }) => type === "command:local:Command")?.inputs ?? {};
  };

  it.each([...new Map(files.map((file) => [file.role, file]))])(
    "of a file of the role %s changes what its command is given, and nothing else",
    async (_, file) => {
      const before = await commandOf(file, file.text);
      const after = await commandOf(file, `${file.text}x`);
      expect(after.stdin).not.toEqual(before.stdin);
      expect({ ...after, stdin: "" }).toEqual({ ...before, stdin: "" });
    },
  );
});
