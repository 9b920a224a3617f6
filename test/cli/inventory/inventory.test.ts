import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { readVenv } from "../../../cli/sees/packageVersions";
import { parseStackFile } from "../../../components/settings/load";
import { startInstanceA } from "../../engine/instanceA";
import { freePort } from "../../layers/freePort";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { markApplied } from "../applied";
import { CONTAINER } from "../doctor/cases";
import { withMachine } from "../doctor/stack";
import { FakeDocker, inspected } from "../fakeDocker";
import { runServing } from "../runServing";

const folder = temporaryFolder("serving-inventory-");

const DIGEST = "sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90";
const MISSING = { torch: "MISSING", vllm: "MISSING", transformers: "MISSING" };

function venv(name: string, script: string): string {
  const path = join(folder, name);
  mkdirSync(join(path, "bin"), { recursive: true });
  writeFileSync(join(path, "bin/python"), `#!/bin/sh\n${script}\n`);
  chmodSync(join(path, "bin/python"), 0o755);
  return path;
}

/** A process that ended and waits to be reaped does not run. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

describe("a venv", () => {
  it("gives its versions, MISSING where a package isn't installed", async () => {
    const path = venv("good", `echo '{"torch": "2.13.0", "vllm": "0.28.0"}'`);
    expect(await readVenv(path)).toEqual({
      path,
      versions: { torch: "2.13.0", vllm: "0.28.0", transformers: "MISSING" },
    });
  });

  it("is read by its own interpreter, with nothing imported and without the shell's variables", async () => {
    const path = join(folder, "real");
    mkdirSync(join(path, "bin"), { recursive: true });
    const python = execFileSync("sh", ["-c", "command -v python3"], { encoding: "utf8" }).trim();
    writeFileSync(join(path, "bin/python"), `#!/bin/sh\nexec ${python} "$@"\n`);
    chmodSync(join(path, "bin/python"), 0o755);
    // Only metadata is looked at: a package that would fail when it is imported is found all the
    // same.
    const site = join(folder, "site");
    mkdirSync(join(site, "vllm-9.9.9.dist-info"), { recursive: true });
    writeFileSync(
      join(site, "vllm-9.9.9.dist-info/METADATA"),
      "Metadata-Version: 2.1\nName: vllm\nVersion: 9.9.9\n",
    );
    process.env.PYTHONPATH = site;
    try {
      expect((await readVenv(path)).versions.vllm).toBe("MISSING");
    } finally {
      delete process.env.PYTHONPATH;
    }
  });

  it("asks a package that has no metadata, and takes one that can't be imported for MISSING", async () => {
    const path = join(folder, "sources");
    mkdirSync(join(path, "bin"), { recursive: true });
    const python = execFileSync("sh", ["-c", "command -v python3"], { encoding: "utf8" }).trim();
    execFileSync(python, ["-m", "venv", "--without-pip", path]);
    const [site = ""] = execFileSync("sh", ["-c", `echo ${path}/lib/python3*/site-packages`], {
      encoding: "utf8",
    })
      .trim()
      .split(" ");
    writeFileSync(join(site, "torch.py"), 'print("noise")\n__version__ = "2.13.0a0"\n');
    writeFileSync(join(site, "vllm.py"), 'raise SystemExit("no GPU")\n');
    expect(await readVenv(path)).toEqual({ path, versions: { ...MISSING, torch: "2.13.0a0" } });
  });

  it("that hangs is MISSING in time, and nothing that it started is left", async () => {
    const file = join(folder, "started");
    const path = venv("hangs", `sleep 300 & echo $! > ${file}; wait`);
    const reading = await readVenv(path, undefined, 0.5);
    expect(reading.problem).toBe(`${path}/bin/python gave no answer within 0.5 s`);
    const pid = Number(readFileSync(file, "utf8"));
    await expect.poll(() => isRunning(pid)).toBe(false);
  });

  it("that leaves something in the background is read all the same", async () => {
    const path = venv("leaves", `sleep 300 & echo '{"vllm": "0.30.0"}'`);
    expect((await readVenv(path)).versions).toEqual({ ...MISSING, vllm: "0.30.0" });
  });

  it.each<[string, () => string, string]>([
    ["that isn't there", () => join(folder, "nowhere"), "there is no"],
    ["whose interpreter fails", () => venv("fails", "exit 3"), "/bin/python failed"],
    [
      "that prints something else",
      () => venv("chatty", "echo hello"),
      "printed something other than versions",
    ],
    ["that prints without an end", () => venv("endless", "yes"), "/bin/python failed"],
  ])("%s is MISSING, with the reason", async (_name, path, problem) => {
    const reading = await readVenv(path());
    expect(reading.versions).toEqual(MISSING);
    expect(reading.problem).toContain(problem);
  });
});

describe("serving status --versions", () => {
  const good = venv(
    "declared",
    `echo '{"torch": "2.13.0", "vllm": "0.28.0", "transformers": "5.11.0"}'`,
  );
  const labels = { "local-serving.machine": "dgx" };
  const containers = [
    inspected({
      name: CONTAINER,
      image: `vllm/vllm-openai:v0.30.0@${DIGEST}`,
      labels,
      env: ["HF_TOKEN=hf_abcdefgh12345678"],
    }),
    {
      ...inspected({ name: "somebody-elses", image: "redis:7" }),
      Image: `sha256:${"2".repeat(64)}`,
    },
  ];
  const answers = {
    "ps --all": { out: `${"f".repeat(64)}\n` },
    "inspect ": { out: JSON.stringify(containers) },
    "image inspect": {
      out: `sha256:${"1".repeat(64)} ["vllm/vllm-openai@${DIGEST}"]\nsha256:${"2".repeat(64)} []\n`,
    },
    "run --rm --network none --name local-serving-versions-": {
      out: `{"torch": "2.13.0", "vllm": "0.30.0", "transformers": "5.12.1"}\n`,
    },
  };

  async function inventory(venvs: string[], more = answers, args = ["--format", "json"]) {
    const file = join(folder, "Pulumi.dgx.yaml");
    const text = withMachine(["venvs", venvs]);
    writeFileSync(file, text);
    const docker = new FakeDocker(more);
    markApplied(folder, "dgx");
    const env = { ...docker.env, HOME: folder };
    const run = await runServing(["status", "--versions", "--file", file, ...args], env);
    return { ...run, text, asked: readFileSync(docker.asked, "utf8") };
  }

  it("lists containers with name, digest and ports, and the versions inside ours", async () => {
    const { code, out, err, asked } = await inventory([good]);
    expect([code, err]).toEqual([0, ""]);
    const found = JSON.parse(out);
    expect(found.containers).toEqual([
      {
        name: "somebody-elses",
        image: "redis:7",
        digest: "",
        status: "running",
        ports: [{ ip: "127.0.0.1", host: 8001, container: "8001/tcp" }],
        ours: false,
        versions: null,
      },
      {
        name: CONTAINER,
        image: `vllm/vllm-openai:v0.30.0@${DIGEST}`,
        digest: DIGEST,
        status: "running",
        ports: [{ ip: "127.0.0.1", host: 8001, container: "8001/tcp" }],
        ours: true,
        versions: { torch: "2.13.0", vllm: "0.30.0", transformers: "5.12.1" },
      },
    ]);
    expect(found.venvs).toEqual([
      { path: good, versions: { torch: "2.13.0", vllm: "0.28.0", transformers: "5.11.0" } },
    ]);
    // Nobody else's image is started, and nothing is pulled.
    expect(asked.match(/ run /g)).toHaveLength(1);
    expect(asked).not.toContain("pull");
    expect(out).not.toContain("hf_");
  });

  it("gives the record as a change of the stack file", async () => {
    const { out } = await inventory([]);
    const { record } = JSON.parse(out);
    expect(
      record.edits.map(({ path, value }: { path: string[]; value: string }) => [
        path.at(-1),
        value,
      ]),
    ).toEqual([
      ["vllm", "0.30.0"],
      ["transformers", "5.12.1"],
      ["evidence", "read"],
      ["digest", "sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90"],
      ["source", "serving inventory, sha256:8a69ffad015f"],
    ]);
    const folderOfPatch = temporaryFolder("inventory-patch-");
    const file = join(folderOfPatch, "Pulumi.dgx.yaml");
    writeFileSync(file, withMachine(["venvs", []]));
    execFileSync("git", ["apply", "-"], { cwd: folderOfPatch, input: record.diff });
    const settings = parseStackFile(file, readFileSync(file, "utf8"));
    expect(settings.machines.dgx?.inferenceServers.b?.versions).toEqual({
      vllm: "0.30.0",
      transformers: "5.12.1",
      evidence: "read",
      digest: "sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90",
      source: "serving inventory, sha256:8a69ffad015f",
    });
  });

  it("records how instance A was started, where the stack file doesn't say it", async () => {
    const port = await freePort();
    const process = await startInstanceA(port, 0.36);
    onTestFinished(() => process.stop());
    const given = async (more: Record<string, unknown>) => {
      const file = join(folder, "Pulumi.a.yaml");
      writeFileSync(
        file,
        withMachine(["instanceA", { port, gpuMemoryUtilization: 0.36, ...more }]),
      );
      const docker = new FakeDocker({ "ps --all": { out: "" } });
      const { out } = await runServing(
        ["status", "--versions", "--file", file, "--format", "json"],
        docker.env,
      );
      return JSON.parse(out).record;
    };
    const { edits, diff } = await given({});
    const path = ["machines", "dgx", "instanceA"];
    expect(edits).toEqual([
      { path: [...path, "servedModelName"], value: "org/host-model" },
      { path: [...path, "toolParser"], value: "none" },
    ]);
    expect(diff).toContain("+        toolParser: none\n");
    const declared = { servedModelName: "org/host-model", toolParser: "none" };
    expect(await given(declared)).toEqual({ edits: [], diff: "" });
    expect((await given({ ...declared, toolParser: "hermes" })).edits).toEqual([edits[1]]);
    expect((await given({ port: 1 })).edits).toEqual([]);
  });

  it("records nothing of an image with another digest", async () => {
    const other = `sha256:${"1".repeat(64)} ["vllm/vllm-openai@sha256:${"c".repeat(64)}"]\n`;
    const { out } = await inventory([], { ...answers, "image inspect": { out: other } });
    expect(JSON.parse(out).record).toEqual({ edits: [], diff: "" });
  });

  it("leaves no container of its own where reading one fails", async () => {
    const failing = { out: "", err: "exec: python3: not found\n", code: 127 };
    const { code, out, asked } = await inventory([], {
      ...answers,
      "run --rm --network none --name local-serving-versions-": failing,
    });
    expect(code).toBe(1);
    expect(JSON.parse(out).problems).toEqual([
      `${CONTAINER}: docker run failed: exec: python3: not found`,
    ]);
    const [, name] = /--name (local-serving-versions-[0-9a-f]{8}) /.exec(asked) ?? [];
    expect(asked).toContain(` rm --force ${name}\n`);
  });

  it("puts up with a container that goes away while it looks", async () => {
    const gone = {
      ...answers,
      "inspect ": { out: "[]", err: "Error: No such object: f00\n", code: 1 },
    };
    const { code, out, asked } = await inventory([], gone);
    expect(code).toBe(1);
    expect(JSON.parse(out).problems).toEqual(["docker inspect failed: Error: No such object: f00"]);
    expect(asked.match(/ ps --all/g)).toHaveLength(3);
  });

  it("prints tables for people", async () => {
    const { out } = await inventory([good], answers, []);
    expect(out).toContain(`${CONTAINER}  running  vllm/vllm-openai:v0.30.0  sha256:8a69ffad015f`);
    expect(out).toContain(`${good}  torch 2.13.0, vllm 0.28.0, transformers 5.11.0`);
  });

  it.each([
    [
      "start gate: closed: 3 starts within an hour failed. Find out why.\n",
      "closed: 3 starts within an hour failed. Find out why.",
    ],
    ["start gate: open after 0 s, 60.00 GiB are available\n", undefined],
    ["INFO Application startup complete.\n", undefined],
  ])(
    "says that a server waits at its start gate, whatever Docker's health check says: %j",
    async (out, words) => {
      const more = { ...answers, "logs --tail 1 ": { out } };
      const { containers } = JSON.parse((await inventory([], more)).out);
      expect(containers.map(({ startGate }: { startGate?: string }) => startGate)).toEqual([
        undefined,
        words,
      ]);
      const text = (await inventory([], more, [])).out;
      expect(/^start gate of (.*)$/m.exec(text)?.[1]).toBe(words && `${CONTAINER}: ${words}`);
    },
  );

  it("ends with 1 when something could not be read, and still prints the rest", async () => {
    const { code, out } = await inventory([good, join(folder, "gone")], {
      ...answers,
      "ps --all": { out: "", err: "Cannot connect to the Docker daemon\n", code: 1 } as {
        out: string;
      },
    });
    expect(code).toBe(1);
    const found = JSON.parse(out);
    expect(found.containers).toEqual([]);
    expect(found.venvs[0].versions.vllm).toBe("0.28.0");
    expect(found.problems).toEqual([
      "docker ps failed: Cannot connect to the Docker daemon",
      `there is no ${join(folder, "gone")}/bin/python`,
    ]);
  });
});
