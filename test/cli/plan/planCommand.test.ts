import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { totalFinding } from "../../../components/memory/machineMemory";
import { serverInput } from "../../fixtures/machine";
import { BRIDGE } from "../../fixtures/services";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { runServing } from "../runServing";

const folder = temporaryFolder("plan-");

function edited(from: string, to: string, name = "edited"): string {
  const text = readFileSync("Pulumi.dgx.yaml", "utf8");
  if (!text.includes(from)) throw new Error(`no ${from} in Pulumi.dgx.yaml`);
  const file = join(folder, `${name}.yaml`);
  writeFileSync(file, text.replace(from, to));
  return file;
}

/** What comes before the plan of the sample, which nobody named. */
const OF_SAMPLE =
  "dgx is this project's sample: `serving init` writes a stack file for your machine. Once you edit Pulumi.dgx.yaml, it is yours.\n";

const SERVED = "servedModelName: qwen3.6-35b-a3b";

describe("serving plan", () => {
  it("prints the whole plan for a person, and ends with 0", async () => {
    const { code, out, err } = await runServing(["plan", "--full"], { NO_COLOR: "1" });
    expect({ code, err }).toEqual({ code: 0, err: OF_SAMPLE });
    expect(out).toContain("Machine dgx");
    expect(out).toContain("docker run --detach");
    expect(out).toMatch(/instance A {2,}54\.73 GiB/);
    expect(out).toMatch(/aggregate utilization 0\.90, limit 0\.90/);
    expect(out).toMatch(/pass {4}aggregate-utilization/);
    expect(out).toContain("http://127.0.0.1:8001/v1");
  });

  it("refuses a server that can't start by what others saw, unless `startAnyway` says why", async () => {
    const share = (more = "") =>
      edited(
        "gpuMemoryUtilization: 0.45\n          maxModelLen",
        `gpuMemoryUtilization: 0.193\n          ${more}maxModelLen`,
      );
    const judged = async (...args: string[]) => {
      const { code, out } = await runServing(["plan", ...args, "--format", "json"]);
      const { findings } = JSON.parse(out) as {
        findings: { name: string; verdict: string; message: string; value?: unknown }[];
      };
      return { code, found: findings.filter(({ name }) => name === "server-starts") };
    };
    const why =
      "b can't start: its share of 23.47 GiB is too small. Set `gpuMemoryUtilization: 0.44`. The plan still warns of the sum of the shares. Its share has 23.47 GiB: its weights take 20.49 GiB, one window 2.66 GiB, and no start took less than 0.57 GiB beside them.";
    const refused = await judged("--file", share());
    expect(refused.code).toBe(1);
    expect(refused.found).toMatchObject([
      { verdict: "refused", message: expect.stringContaining(why), value: 0.44 },
    ]);
    const anyway = [
      "--file",
      share('startAnyway: "our other machine: \\"it starts\\""\n          '),
    ];
    const applied = await judged(...anyway);
    expect(applied.code).toBe(0);
    expect(applied.found).toMatchObject([
      {
        verdict: "warned",
        message: expect.stringContaining(
          `${why} It is applied all the same: \`startAnyway\` says "our other machine: "it starts"".`,
        ),
      },
    ]);
    const { out } = await runServing(["plan", ...anyway], { NO_COLOR: "1" });
    expect(out.split("\n")[0]).toMatch(
      /^Nothing is refused, BUT vllm-qwen3\.6-35b-a3b-8001 would not start\. \d+ warnings, /,
    );
    expect((await judged(...anyway, "--strict")).code).toBe(1);
  });

  it("takes a server that may not start, and with --strict only as sure as it was before", async () => {
    const at = (share: number) =>
      edited(
        "gpuMemoryUtilization: 0.45\n          maxModelLen",
        `gpuMemoryUtilization: ${share}\n          maxModelLen`,
        `share-${share}`,
      );
    const code = async (...args: string[]) => (await runServing(["plan", ...args])).code;
    const [sure, open, other] = [at(0.44), at(0.4), at(0.39)];
    expect(await code("--file", open)).toBe(0);
    expect(await code("--file", open, "--strict")).toBe(1);
    expect(await code("--file", sure, "--strict")).toBe(0);
    expect(await code("--file", open, "--against", sure)).toBe(0);
    expect(await code("--file", open, "--against", sure, "--strict")).toBe(1);
    expect(await code("--file", other, "--against", open, "--strict")).toBe(0);
    expect(await code("--file", sure, "--against", open, "--strict")).toBe(0);
  });

  it("says which known model a mistyped id may mean, and nothing where none is close", async () => {
    const typed = async (id: string) => {
      const file = edited("id: nvidia/Qwen3.6-35B-A3B-NVFP4", `id: ${id}`);
      const { out } = await runServing(["plan", "--file", file, "--format", "json"]);
      const { warnings } = JSON.parse(out) as { warnings: { code: string; message: string }[] };
      return warnings.flatMap((each) => (each.code === "kv-unknown" ? [each.message] : []));
    };
    const rest =
      "(`serving models add`, or with `--from-cache` from the machine's model cache). A plan made on the machine itself reads that cache.";
    expect(await typed("nvidia/Qwen3.6-35B-A3B-NVFP")).toEqual([
      `b: its KV cache isn't planned. No config.json of nvidia/Qwen3.6-35B-A3B-NVFP was found. Did you mean \`nvidia/Qwen3.6-35B-A3B-NVFP4\`? Otherwise put it into models/nvidia--Qwen3.6-35B-A3B-NVFP/ ${rest}`,
    ]);
    expect(await typed("org/zzzzzzzzzzzz")).toEqual([
      `b: its KV cache isn't planned. No config.json of org/zzzzzzzzzzzz was found: put it into models/org--zzzzzzzzzzzz/ ${rest}`,
    ]);
    // A word that some other model has too, that model's family, and another version or size of it.
    for (const id of ["org/small", "me/qwen-support-tone", "nvidia/Qwen9-35B", "Qwen/Qwen3.6-14B"])
      expect(await typed(id)).toEqual([
        `b: its KV cache isn't planned. No config.json of ${id} was found: put it into models/${id.replace("/", "--")}/ ${rest}`,
      ]);
    const [otherCase = ""] = await typed("Nvidia/qwen3.6-35B-A3B-NVFP4");
    expect(otherCase).toContain("Did you mean `nvidia/Qwen3.6-35B-A3B-NVFP4`?");
    expect(await typed("nvidia/Qwen3.6-35B-A3B-NVFP4")).toEqual([]);
  });

  it("prints one JSON document of the promised shape", async () => {
    const { code, out, err } = await runServing(["plan", "--format", "json"]);
    const document = JSON.parse(out) as Record<string, unknown>;
    expect({ code, err }).toEqual({ code: 0, err: OF_SAMPLE });
    expect(Object.keys(document).sort()).toEqual([
      "findings",
      "machines",
      "policies",
      "version",
      "warnings",
    ]);
    expect(document).toMatchObject({
      machines: [
        {
          name: "dgx",
          containers: [
            {
              role: "inference-server",
              entrypoint: expect.any(Array),
              gpus: "all",
              ipc: "host",
              restart: "unless-stopped",
              ports: [{ ip: "127.0.0.1", host: 8001, container: 8001 }],
              secretEnv: [],
            },
            {
              role: "bridge",
              gpus: null,
              ports: [{ ip: "127.0.0.1", host: 8787, container: 8787 }],
            },
            {
              role: "chat-ui",
              gpus: null,
              ports: [{ ip: "127.0.0.1", host: 8080, container: 8080 }],
            },
          ],
          files: expect.any(Array),
          ledger: { totalGiB: 121.63, aggregateUtilization: 0.9, lines: expect.any(Array) },
          endpoints: expect.any(Array),
          commands: expect.any(Array),
        },
      ],
      policies: expect.arrayContaining([
        {
          name: "aggregate-utilization",
          level: "mandatory",
          verdict: "pass",
          message: "",
          resource: "",
        },
      ]),
    });
  });

  it.each([
    [
      "gpuMemoryUtilization: 0.45\n          maxModelLen: 262144",
      "gpuMemoryUtilization: 0.5\n          maxModelLen: 262144",
      "aggregate-utilization",
      "0.95",
    ],
    [SERVED, "servedModelName: qwen/qwen3.6", "served-model-name", "qwen/qwen3.6"],
    [
      "@sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90",
      "",
      "inference-image",
      "isn't pinned",
    ],
    [
      "vllm: 0.30.0",
      "vllm: 0.25.1",
      "inference-image",
      "its record says vllm 0.25.1, but its digest is that of vllm/vllm-openai:v0.30.0.",
    ],
    [
      "transformers: 5.10.4",
      "transformers: 5.7.0",
      "inference-image, transformers-range",
      "below 5.8.0",
    ],
  ])(
    "refuses %s -> %s with exit code 1 and prints the whole plan",
    async (from, to, rule, words) => {
      const { code, out } = await runServing([
        "plan",
        "--file",
        edited(from, to),
        "--format",
        "json",
      ]);
      const { policies, machines } = JSON.parse(out) as {
        policies: { name: string; verdict: string; message: string }[];
        machines: { containers: unknown[] }[];
      };
      expect(code).toBe(1);
      expect(machines[0]?.containers).toHaveLength(3);
      const refused = policies.filter((each) => each.verdict === "refused");
      expect([...new Set(refused.map((each) => each.name))].join(", ")).toBe(rule);
      expect(refused.map((each) => each.message).join("\n")).toContain(words);
    },
  );

  it.each([
    ["harness", ["/providers.toml ", "/session-analytics.json "]],
    ["clientEnv", ["/client.env ", "/local-env "]],
    ["dgx.codex-config", ["/local-serving.config.toml "]],
    ["local-claude", ["/local-claude "]],
  ])("shows the files of %s", async (name, paths) => {
    const file = edited("      instanceA:", "      harness: {}\n      instanceA:");
    const { code, out } = await runServing(["plan", "--file", file, name], { NO_COLOR: "1" });
    expect(code).toBe(0);
    const shown = out.split("\n").filter((line) => /^ *File /.test(line));
    expect(shown).toHaveLength(paths.length);
    for (const [at, path] of paths.entries()) expect(shown[at]).toContain(path);
  });

  it("names what has files where a name is unknown", async () => {
    const { code, err } = await runServing(["plan", "codx"]);
    expect(code).toBe(2);
    expect(err).toContain("Did you mean `codex`?");
    expect(err).toContain("client-env");
    expect(err).not.toContain("harness");
  });

  it("says all faults of a stack file with their lines, and ends with 1", async () => {
    const { code, out, err } = await runServing([
      "plan",
      "--file",
      edited(SERVED, "servedModelNam: x"),
    ]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toMatch(/edited\.yaml: 1 fault\n/);
    expect(err).toMatch(
      /edited\.yaml:\d+:\d+ machines\.dgx\.inferenceServers\.b\.servedModelNam: Unknown key/,
    );
    expect(err).not.toContain("    at ");
  });

  it("ends with 2 for a file that can't be read, an unknown option and a stack name that is none", async () => {
    expect(await runServing(["plan", "--file", join(folder, "absent.yaml")])).toMatchObject({
      code: 2,
    });
    expect(await runServing(["plan", "--bogus"])).toMatchObject({ code: 2 });
    expect(await runServing(["plan", "--format", "xml"])).toMatchObject({ code: 2 });
    expect(await runServing(["plan", "--stack", "../etc"])).toMatchObject({ code: 2 });
  });

  it("heads faults between servers with the file's path, as all others", async () => {
    const file = join(folder, "two.yaml");
    const c = { ...serverInput(), port: 8002, start: "onRequest" };
    const dgx = {
      ...{ totalGiB: 121.63, instanceA: "none", bridge: BRIDGE },
      inferenceServers: { b: serverInput(), c },
    };
    writeFileSync(file, stringify({ config: { "local-serving:machines": { dgx } } }));
    const { code, out, err } = await runServing(["plan", "--file", file]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err.split("\n")[0]).toBe(`${file}: 1 fault`);
    expect(err).toContain(`  ${file}:`);
  });

  it("names the stacks that there are for one that isn't", async () => {
    const { code, err } = await runServing(["plan", "--stack", "spark"]);
    expect(code).toBe(2);
    expect(err).toBe(
      `No Pulumi.spark.yaml in ${process.cwd()}. Stacks there: dgx. Name one of them.\n`,
    );
  });

  describe("--meminfo", () => {
    const meminfo = (name: string, totalKib: number, availableKib: number) => {
      const file = join(folder, name);
      writeFileSync(file, `MemTotal:       ${totalKib} kB\nMemAvailable:   ${availableKib} kB\n`);
      return file;
    };
    const operatingSystems = (out: string) =>
      (
        JSON.parse(out) as { machines: { ledger: { lines: { name: string; basis: string }[] } }[] }
      ).machines.map(
        ({ ledger }) => ledger.lines.find(({ name }) => name === "operating system")?.basis,
      );
    /** The default stack file with its machine twice, the second time as another computer. */
    const twice = () => {
      const text = readFileSync("Pulumi.dgx.yaml", "utf8");
      const machine = text.slice(text.indexOf("    dgx:\n"));
      const file = join(folder, "twice.yaml");
      writeFileSync(
        file,
        text + machine.replace("    dgx:\n", "    dgx2:\n      dockerHost: ssh://me@dgx2\n"),
      );
      return file;
    };

    it("measures the operating system of the one machine", async () => {
      const file = meminfo("one", 127_600_592, 60 * 1024 ** 2);
      for (const given of [file, `dgx=${file}`]) {
        const { code, out } = await runServing(["plan", "--meminfo", given, "--format", "json"]);
        expect([code, operatingSystems(out)]).toEqual([0, ["measured"]]);
      }
    });

    it.each([
      ["less", 24_683_151],
      ["more", 200_000_000],
    ])(
      "is of a machine with %s memory than declared: refused in the words of the preflight",
      async (_, kib) => {
        const file = meminfo("other", kib, 20 * 1024 ** 2);
        const { code, out } = await runServing(["plan", "--meminfo", file, "--format", "json"]);
        const { policies } = JSON.parse(out) as { policies: { name: string }[] };
        const { message = "", value } = totalFinding(121.63, kib / 1024 ** 2) ?? {};
        const path = "machines.dgx.totalGiB";
        expect(code).toBe(1);
        expect(policies.filter(({ name }) => name === "preflight")).toMatchObject([
          {
            level: "mandatory",
            verdict: "refused",
            resource: "dgx",
            message: `${message} In the stack file, line 9: \`${path}: ${value}\`.`,
            path,
            value,
          },
        ]);
      },
    );

    it("is asked for by machine where there are several", async () => {
      const one = meminfo("one", 127_600_592, 60 * 1024 ** 2);
      const { code, out, err } = await runServing(["plan", "--file", twice(), "--meminfo", one]);
      expect({ code, out }).toEqual({ code: 2, out: "" });
      expect(err).toContain(
        `--meminfo ${one}: whose? The stack file has dgx, dgx2; write --meminfo dgx=${one}`,
      );
      const other = await runServing(["plan", "--file", twice(), "--meminfo", `dxg=${one}`]);
      expect([other.code, other.err]).toEqual([
        2,
        expect.stringContaining(
          `--meminfo dxg=${one}: the stack file has no machine dxg. Write --meminfo dgx=${one}, or another of dgx, dgx2.`,
        ),
      ]);
      const named = ["--meminfo", `dgx2=${one}`, "--format", "json"];
      const second = await runServing(["plan", "--file", twice(), ...named]);
      expect(operatingSystems(second.out)).toEqual(["default", "measured"]);
    });

    it("is refused where it is none", async () => {
      for (const file of [meminfo("upside-down", 100, 101), meminfo("empty", 0, 0)]) {
        const { code, err } = await runServing(["plan", "--meminfo", file]);
        expect(code).toBe(2);
        expect(err).toContain("expected a copy of /proc/meminfo");
      }
    });
  });

  it("writes what it rendered where --out says", async () => {
    const { code } = await runServing(["plan", "--out", join(folder, "out")]);
    expect(code).toBe(0);
    const written = readdirSync(join(folder, "out/dgx"));
    expect(written).toContain("vllm-qwen3.6-35b-a3b-8001.docker-run.sh");
    expect(written.filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  it("says which file it could not write, with exit code 2, and leaves nothing unfinished beside it", async () => {
    const taken = join(folder, "taken/dgx/bridge-config");
    mkdirSync(taken, { recursive: true });
    const { code, out, err } = await runServing(["plan", "--out", join(folder, "taken")]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(`${taken}: not a regular file, so it stays as it is`);
    expect(readdirSync(join(folder, "taken/dgx")).filter((name) => name.includes("tmp"))).toEqual(
      [],
    );
  });
});

describe("the bundled program", () => {
  it("is executable and finds its project from any directory, without colours in a pipe", () => {
    const out = execFileSync(resolve("bundle/serving.cjs"), ["plan"], {
      cwd: "/",
      encoding: "utf8",
    });
    expect(out).toMatch(/^Nothing is refused\./);
    expect(out).not.toContain("\u001b[");
  });
});

describe("a file that is a pipe", () => {
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  const empty = join(folder, "empty.json");
  writeFileSync(empty, "{}");

  it.each([
    "plan --file PIPE",
    "plan --meminfo PIPE",
    "kv --available 20GiB --config PIPE",
    "doctor --inspect PIPE",
    "pin vllm/vllm-openai:v1 --write --file PIPE",
    "config check automation PIPE",
    "config check automation EMPTY --mapping PIPE",
    "config check providers PIPE",
    "config check analytics PIPE",
    "config check analytics EMPTY --dotenv PIPE",
  ])("is refused where nobody may ever write into it: %s", async (line) => {
    const { code, out, err } = await runServing(
      line.replace("PIPE", pipe).replace("EMPTY", empty).split(" "),
    );
    expect(code).toBe(2);
    expect(out + err).toBe(
      `${pipe}: is a named pipe, which may block forever: give a file, or \`<(COMMAND)\`\n`,
    );
  });

  it.each([
    "plan --file <(cat Pulumi.dgx.yaml)",
    "plan --file /dev/stdin <Pulumi.dgx.yaml",
    "plan",
  ])("is read where a shell made it: %s", (command) => {
    const meminfo = "MemTotal: 127600592 kB\\nMemAvailable: 62914560 kB\\n";
    const script = `bundle/serving.cjs ${command} --meminfo <(sleep 0.2; printf '${meminfo}') --format json`;
    const out = execFileSync("bash", ["-c", script], { encoding: "utf8" });
    const { machines } = JSON.parse(out) as { machines: object[] };
    expect(machines).toMatchObject([{ name: "dgx", ledger: { totalGiB: 121.63 } }]);
  });
});

describe("the stack of a command", () => {
  it.each([
    ["dgx, when nobody names one", [], "", 0],
    ["the one in LOCAL_SERVING_STACK", [], "other", 2],
    ["the one in --stack, whatever the variable says", ["--stack", "dgx"], "other", 0],
  ] as const)("is %s", async (_name, args, variable, code) => {
    const run = await runServing(["plan", ...args], { LOCAL_SERVING_STACK: variable });
    expect(run.code).toBe(code);
    expect(run.err).toContain(code === 0 ? "" : "No Pulumi.other.yaml in ");
  });
});

describe("a home that no file can be written to", () => {
  it.each([
    ["rel", "`rel`"],
    ["", "empty text"],
  ])("HOME=%j is refused in one sentence", async (home, got) => {
    expect(await runServing(["plan"], { HOME: home })).toEqual({
      code: 2,
      out: "",
      err: `HOME: expected the absolute path of your home, such as /home/me, got ${got}\n`,
    });
  });
});

describe("a terminal", () => {
  it("is as wide as COLUMNS says", async () => {
    const { out } = await runServing(["plan"], { COLUMNS: "60", NO_COLOR: "1" });
    const lines = out.split("\n");
    const memory = lines.slice(lines.indexOf("  Memory"), lines.indexOf("  Reached at"));
    expect(Math.max(...memory.map(({ length }) => length))).toBeLessThanOrEqual(60);
  });
});
