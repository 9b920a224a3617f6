import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makesTemplate } from "../../components/inference-server/chatTemplate";
import { plan } from "../../components/plan/plan";
import { declaredResources } from "../../components/program/machine/declaredResources";
import { judge } from "../../policies/judge";
import { stack } from "../fixtures/machine";
import { temporaryFolder } from "../layers/temporaryFolder";

const SCRIPT = "components/inference-server/tolerantTemplate.py";
const OWN = "{% for message in messages %}{{ message.role }}{% endfor %}";
/** What Python's hub client does where a file is not in the repository. */
const HUB = `
import os
from pathlib import Path
from huggingface_hub.errors import EntryNotFoundError
def hf_hub_download(model, name, revision=None):
    path = Path(os.environ["HUB"], model, revision or "main", name)
    if not path.is_file(): raise EntryNotFoundError(name)
    return str(path)
`;

/** A model's files, in a hub of one repository. */
function made(
  files: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  revision = "main",
) {
  const folder = temporaryFolder("template-");
  const [hub, model] = [join(folder, "huggingface_hub"), join(folder, "org/m", revision)];
  for (const each of [hub, model]) mkdirSync(each, { recursive: true });
  writeFileSync(join(hub, "__init__.py"), HUB);
  writeFileSync(join(hub, "errors.py"), "class EntryNotFoundError(Exception): pass\n");
  for (const [name, text] of Object.entries(files)) writeFileSync(join(model, name), text);
  const [out, env] = [
    join(folder, "out"),
    { ...process.env, HUB: folder, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1" },
  ];
  const run = (...words: string[]) =>
    spawnSync("python3", [SCRIPT, out, ...words], { env, encoding: "utf8" });
  return {
    folder: model,
    out: () => readFileSync(out, "utf8"),
    ...run(args[0] ?? "org/m", ...args.slice(1)),
    run,
  };
}

describe("the template of `chatTemplate: tolerant`", () => {
  it.each([
    [
      "the file of its own",
      { "chat_template.jinja": OWN, "tokenizer_config.json": '{"chat_template":"other"}' },
    ],
    ["the tokenizer's", { "tokenizer_config.json": JSON.stringify({ chat_template: OWN }) }],
    [
      "the tokenizer's default one of several",
      {
        "tokenizer_config.json": JSON.stringify({
          chat_template: [
            { name: "tool_use", template: "other" },
            { name: "default", template: OWN },
          ],
        }),
      },
    ],
  ])("ends in %s", (_, files) => {
    const { status, out } = made(files);
    expect(status).toBe(0);
    expect(out().endsWith(`{%-set messages = seen.turns -%}\n${OWN}`)).toBe(true);
  });

  it("is of the revision that the server is pinned to", () => {
    const args = ["org/m", "--port", "1", "--revision", "abc"];
    expect(made({ "chat_template.jinja": OWN }, args, "abc").status).toBe(0);
    expect(made({ "chat_template.jinja": OWN }, args, "main").status).toBe(1);
  });

  it("is of a folder where the model is one", () => {
    const { folder, run, out } = made({ "chat_template.jinja": OWN });
    expect(run(folder).status).toBe(0);
    expect(out()).toContain(OWN);
  });

  it("is none where the model has none, and says so", () => {
    const { status, stderr } = made({ "tokenizer_config.json": "{}" });
    expect([status, stderr]).toEqual([
      1,
      "chatTemplate: tolerant: org/m has no chat template of its own\n",
    ]);
  });
});

describe("a server with it", () => {
  const whole = (chatTemplate?: string) =>
    plan(stack({}, chatTemplate === undefined ? {} : { chatTemplate }), { home: "/home/me" });
  const container = (chatTemplate?: string) =>
    whole(chatTemplate).machines[0]?.inferenceServers[0]?.container;

  it("makes it before its gate, and hands it to vLLM", () => {
    const [plain, tolerant] = [container(), container("tolerant")];
    expect(plain?.command).not.toContain("--chat-template");
    expect(tolerant?.command.join(" ")).toContain("--chat-template /tmp/tolerant.jinja");
    const [script, gate] = [tolerant?.entrypoint?.[2] ?? "", plain?.entrypoint?.[2] ?? "-"];
    expect(script.endsWith(gate)).toBe(true);
    expect(script.slice(0, -gate.length)).toMatch(
      /^python3 -c '[\s\S]*' \/tmp\/tolerant\.jinja "\$@" \|\| exit\n$/,
    );
    expect(container("/templates/mine.jinja")?.entrypoint).toEqual(plain?.entrypoint);
  });

  it("passes the policies, which read its entrypoint", () => {
    const mandatory = (template?: string) =>
      judge(declaredResources(whole(template))).filter(({ level }) => level === "mandatory");
    expect(mandatory("tolerant")).toEqual(mandatory());
  });

  it.each([
    [0, "org/m --port 1", 0],
    [3, "", 3],
  ])("starts vLLM only with the template: Python ends with %i", (code, started, status) => {
    const folder = temporaryFolder("first-");
    const program = (name: string, body: string) => {
      writeFileSync(join(folder, name), `#!/bin/sh\n${body}\n`);
      chmodSync(join(folder, name), 0o755);
    };
    program("python3", `[ "$3 $4" = "/tmp/tolerant.jinja org/m" ] && exit ${code}; exit 9`);
    const server = stack({}, { chatTemplate: "tolerant" }).machines.dgx?.inferenceServers.b;
    if (server === undefined) throw new Error("There is no server b.");
    const script = `${makesTemplate(server)}echo "$@"`;
    const env = { PATH: `${folder}:/usr/bin:/bin` };
    const ran = spawnSync("/bin/sh", ["-c", script, "b", "org/m", "--port", "1"], {
      env,
      encoding: "utf8",
    });
    expect([ran.stdout.trim(), ran.status]).toEqual([started, status]);
  });
});
