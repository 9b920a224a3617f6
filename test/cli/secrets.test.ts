import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { FaultyInput } from "@local-serving/base/faults/fault";
import { parseYaml } from "@local-serving/base/faults/yamlDocument";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { parseEngineConfig } from "../../components/settings/load";
import { BAD, KEYS } from "../../packages/base/test/faults/secretCorpus";
import { lookSooner } from "../layers/lookSooner";
import { temporaryFolder } from "../layers/temporaryFolder";
import { container, said, server } from "../policies/declared";
import { CONTAINER } from "./doctor/cases";
import { STACK_TEXT, withServer } from "./doctor/stack";
import { FakeDocker, inspected } from "./fakeDocker";
import { type Run, runServing } from "./runServing";

lookSooner();

const folder = temporaryFolder("secrets-");

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function expectHidden(text: string, bad: readonly (readonly [string, string])[]): void {
  for (const [, secret] of bad) expect(text, secret).not.toContain(secret);
}

const everything = ({ out, err }: Run) => out + err;

/** Every place with a text in a document: a setter that plants another there, on a copy. */
function places(value: unknown, at = ""): { at: string; with: (text: string) => unknown }[] {
  if (typeof value === "string") return [{ at, with: (text) => text }];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    places(inner, at === "" ? key : `${at}.${key}`).map((place) => ({
      at: place.at,
      with: (text: string): unknown =>
        Array.isArray(value)
          ? value.map((item, index) => (String(index) === key ? place.with(text) : item))
          : { ...value, [key]: place.with(text) },
    })),
  );
}

/** The document with one more entry in the map at a path. */
function withKey(value: object, [step = "", ...rest]: readonly string[], key: string): object {
  const inner: unknown = (value as Record<string, unknown>)[step] ?? {};
  const map = inner as object;
  return { ...value, [step]: rest.length === 0 ? { ...map, [key]: "x" } : withKey(map, rest, key) };
}

const EVERY_KEY = parseYaml(
  "x",
  readFileSync("test/cli/reference/fixtures/every-block.yaml", "utf8"),
).value as {
  config: Record<string, unknown>;
};

/** The faults with which a stack is refused: what a plan and a preview say. */
function refusal(machines: unknown): {
  readonly message: string;
  readonly paths: readonly string[];
} {
  try {
    parseEngineConfig({ "local-serving:machines": JSON.stringify(machines) });
  } catch (error) {
    if (!(error instanceof FaultyInput)) throw error;
    return { message: error.message, paths: error.faults.map(({ path }) => path) };
  }
  return { message: "", paths: [] };
}

describe("a secret in a stack file", () => {
  const { all, second } = EVERY_KEY.config["local-serving:machines"] as Record<string, object>;
  const machines = { all, second };

  it("is refused at every place that takes text, and not shown", () => {
    expect(refusal(machines)).toEqual({ message: "", paths: [] });
    const texts = places(machines);
    expect(texts.length).toBeGreaterThan(80);
    for (const { at, with: plant } of texts)
      for (const [text, secret] of [
        [KEYS[0] ?? "", KEYS[0] ?? ""] as const,
        ["https://u:hunter2@h/v1", "hunter2"] as const,
      ]) {
        const { message, paths } = refusal(plant(text));
        expect(message, at).not.toContain(secret);
        expect(
          paths.some((path) => `machines.${at}`.startsWith(path)),
          at,
        ).toBe(true);
      }
  });

  it.each([
    "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
    "JBSWY3DPEHPK3PXP",
    "DEADBEEF0123CAFE",
    "A1B2C3D4E5F6",
    "AKIAABCDEFGHIJKLMNOP",
  ])("is refused where a variable is named, in each form of the answer: %s", async (key) => {
    const named = places(machines).filter(({ at }) => /Variable$/.test(at));
    expect(named.map(({ at }) => at.replace(/^.*\.(?=.*\.)/, "")).sort()).toEqual([
      "administrator.emailVariable",
      "administrator.passwordVariable",
      "b.huggingFaceTokenVariable",
      "bridge.keyVariable",
      "clients.keyVariable",
      "harness.apiKeyVariable",
      "instanceA.keyVariable",
      "onDemand.keyVariable",
    ]);
    const maps = ["inferenceServers.b", "clients.claudeCode"].map(
      (block) => `all.${block}.environment`,
    );
    const planted = [
      ...named.map(({ at, with: plant }) => ({ path: `machines.${at}`, value: plant(key) })),
      ...maps.map((at) => ({
        path: `machines.${at}.<redacted>`,
        value: withKey(machines, at.split("."), key),
      })),
    ];
    for (const { path, value } of planted) {
      const stack = file("named.yaml", stringify({ config: { "local-serving:machines": value } }));
      for (const args of [["--full"], ["--format", "json"]]) {
        const run = await runServing(["plan", "--file", stack, ...args]);
        expect(everything(run)).not.toContain(key);
        expect(run).toMatchObject({
          code: 1,
          err: expect.stringContaining("looks like a key itself (not shown)"),
        });
        expect(run.err).toMatch(
          new RegExp(`^.*: 1 fault\\n.*named.yaml:\\d+:\\d+ ${path.replaceAll(".", "\\.")}: `),
        );
      }
    }
  });

  it("is not taken for one where a variable has an ordinary name", () => {
    const names = [
      "K8S_TOKEN",
      "S3_ACCESS_KEY_ID",
      "LITELLM_KEY_2",
      "HUGGINGFACEHUBTOKEN",
      "SERVER8001",
      "A1B2C3",
    ];
    for (const keyVariable of names)
      expect(
        refusal({
          ...machines,
          all: { ...all, bridge: { ...(all as { bridge: object }).bridge, keyVariable } },
        }),
      ).toEqual({ message: "", paths: [] });
  });

  it.each(BAD)(
    "is refused in a variable, an argument, a template and a command: %s",
    (text, secret) => {
      const harness = { conformanceCommands: { "local-b": `x {review_request} ${text}` } };
      for (const change of [
        withServer(["environment", { SOME_HEADER: text }]),
        withServer(["extraArgs", ["--middleware", text]]),
        withServer(["chatTemplate", text]),
      ]) {
        const machine = (parseYaml("x", change).value as typeof EVERY_KEY).config[
          "local-serving:machines"
        ];
        const { message, paths } = refusal(machine);
        expect(paths).toHaveLength(1);
        expect(message).toContain("looks like a secret (not shown)");
        expect(message).not.toContain(secret);
      }
      const { message } = refusal({
        dgx: { ...machines.all, harness },
      });
      expect(message).toContain("conformanceCommands");
      expect(message).not.toContain(secret);
    },
  );

  it.each([
    ["--hf-token", "hunter2"],
    ["--hf-token=hunter2"],
    ["--hf_token", "hunter2"],
    ["--hf-tok", "hunter2"],
    ["--hf_t=hunter2"],
    ["--HF-TOKEN", "hunter2"],
    ["--HF_TOKEN=hunter2"],
    ["--api-key", "hunter2"],
    ["--api_k=hunter2"],
    ["--Api-Key", "hunter2"],
    ["--ssl-password", "hunter2"],
    ["--load-config", '{"api_key": "hunter2"}'],
    ["--load-config.auth_token", "hunter2"],
  ])("is refused behind a flag: %j %j", (...extraArgs) => {
    const text = withServer(["extraArgs", extraArgs]);
    const { message, paths } = refusal(
      (parseYaml("x", text).value as typeof EVERY_KEY).config["local-serving:machines"],
    );
    expect(paths.join()).toContain("extraArgs");
    expect(message).not.toContain("hunter2");
  });

  it.each(["text", "json"])("is printed by no command, as %s", async (format) => {
    const environment = Object.fromEntries(BAD.map(([text], index) => [`A_${index}`, text]));
    const keys = Object.fromEntries(KEYS.map((key, index) => [key, index]));
    const stack = file(
      "bad.yaml",
      withServer(["environment", { ...environment, HF_TOKEN: "hunter2" }], ["tools", keys]),
    );
    for (const command of ["plan", "wait", "verify", "inventory", "doctor"]) {
      const log = command === "doctor" ? ["--log", file("empty.log", "NVRM\n")] : [];
      const run = await runServing([command, "--file", stack, ...log, "--format", format]);
      expectHidden(everything(run), BAD);
      expect(everything(run), command).toMatch(/looks like a secret|<redacted>|stack file/);
    }
  });
});

describe("a secret in what others declare, say and keep", () => {
  it.each(BAD)("is refused by the policy, and shown by none: %s", (text, secret) => {
    for (const changes of [
      { envs: [`SOME_HEADER=${text}`] },
      { command: ["serve", "--x", text] },
      { entrypoints: ["sh", "-c", text] },
      { labels: [{ label: "a", value: text }] },
    ])
      for (const resource of [container("web", { image: "nginx", ...changes }), server(changes)]) {
        const messages = said("secret-values", [resource]);
        expect(messages.join()).toContain("has a secret (not shown)");
        expect(messages.join()).not.toContain(secret);
      }
  });

  it("is behind an abbreviated flag of a server too", () => {
    for (const flag of ["--hf_tok", "--hf-t", "--api-k", "--HF-TOKEN"])
      expect(said("secret-values", [server({ command: ["m", flag, "hunter2"] })]).join()).toMatch(
        /has a secret \(not shown\)/,
      );
  });

  it("stays out of doctor's and wait's output, whatever the log holds", async () => {
    const stack = file("good.yaml", STACK_TEXT);
    for (let from = 0; from < BAD.length; from += 20) {
      const bad = BAD.slice(from, from + 20);
      const log = bad.map(([text]) => `NVRM: failed with ${text}\n`).join("");
      const state = { Status: "exited", ExitCode: 1, StartedAt: "2026-11-21T13:00:00Z" };
      const docker = new FakeDocker({
        ps: { out: "4711\n" },
        "inspect 4711": { out: JSON.stringify([inspected({ name: CONTAINER, state })]) },
        logs: { out: log },
        "image inspect": { code: 1 },
      });
      for (const format of ["text", "json"]) {
        const args = ["--file", stack, "--format", format];
        const logged = await runServing(["logs", "b", ...args], docker.env);
        expect(logged.out).toContain("<redacted>");
        expectHidden(everything(logged), bad);
        const waited = await runServing(["wait", ...args], docker.env);
        expect(waited.out).toContain("<redacted>");
        expectHidden(everything(waited), bad);
        expectHidden(
          everything(await runServing(["doctor", ...args, "--log", file("bad.log", log)])),
          bad,
        );
      }
    }
  }, 180_000);

  it("stays out of verify's and inventory's, whatever a server and Docker say", async () => {
    let answer = "";
    const http = createServer((_, response) => response.writeHead(500).end(answer)).listen(
      0,
      "127.0.0.1",
    );
    await new Promise((resolve) => http.once("listening", resolve));
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    const docker = new FakeDocker({
      ps: { err: `cannot connect: ${BAD.map(([text]) => text).join("\n")}`, code: 1 },
    });
    for (const format of ["text", "json"]) {
      for (const [text, secret] of BAD.filter((_, index) => index % 4 === 0)) {
        answer = JSON.stringify({ error: { message: text } });
        const run = await runServing([
          "verify",
          "--base-url",
          url,
          "--only",
          "models",
          "--format",
          format,
        ]);
        expect(everything(run)).not.toContain(secret);
      }
      const stack = file("good.yaml", STACK_TEXT);
      const run = await runServing(["inventory", "--file", stack, "--format", format], docker.env);
      expectHidden(
        everything(run),
        KEYS.map((key) => [key, key] as const),
      );
    }
    http.close();
  }, 180_000);
});

describe("a secret in the harness's files", () => {
  const AUTOMATION = parseYaml(
    "x",
    readFileSync("packages/harness/test/fixtures/automation/automation.yaml", "utf8"),
  );
  const ANALYTICS = JSON.parse(
    readFileSync("packages/harness/test/analytics/fixtures/good.json", "utf8"),
  ) as unknown;

  it.each([
    ["automation", AUTOMATION.value, (value: unknown) => stringify(value)],
    ["analytics", ANALYTICS, (value: unknown) => JSON.stringify(value)],
  ] as const)(
    "is refused at every place of the %s file, and not shown",
    async (kind, value, text) => {
      for (const { at, with: plant } of places(value))
        for (const secret of [KEYS[0] ?? "", "https://u:hunter2@h/v1"]) {
          const path = file(`${kind}.yaml`, text(plant(secret)));
          const run = await runServing(["config", "check", kind, path, "--format", "json"]);
          expect(run.code, at).toBe(1);
          expect(everything(run), at).not.toContain(secret);
        }
    },
  );

  it.each(BAD)("is refused in a profile, and shown by no check: %s", async (text, secret) => {
    const quoted = JSON.stringify(text);
    const path = file(
      "p.toml",
      `[providers.p]\ntype = "cli"\ncommand = "x {review_request}"\nversion = ${quoted}\nother = ${quoted}\n`,
    );
    for (const format of ["text", "json"]) {
      const run = await runServing(["config", "check", "providers", path, "--format", format]);
      expect(run.code).toBe(1);
      expect(run.out).toContain("providers.p.version");
      expect(run.out).toContain("providers.p.other");
      expect(everything(run)).not.toContain(secret);
    }
  });

  it.each(BAD)("is shown as <set> by harness show: %s", async (text, secret) => {
    for (const format of ["text", "json"]) {
      const env = { HX_SA_DSN: text, HX_SA_JUDGE_API_KEY: text };
      const run = await runServing(["config", "show", "analytics", "--format", format], env);
      expect(run.out).toContain("<set>");
      expect(everything(run)).not.toContain(secret);
    }
  });
});
