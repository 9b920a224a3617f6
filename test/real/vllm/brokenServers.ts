import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { answering, type Engine, type RunningEngine, startEngine } from "./engine";

/** What is wrong with a server, and what verify has to say of it. */
export interface BrokenCase {
  readonly title: string;
  /** How the model errs: a word of brains.py. */
  readonly brain?: string;
  /** What the stack file says otherwise than what is started. */
  readonly declared?: Readonly<Record<string, unknown>>;
  readonly timeoutSeconds?: number;
  /**
   * Done to the server before it is asked, or with a delay while it is; returns what undoes it.
   */
  readonly harm?: (server: RunningEngine) => () => void;
  /** What the first advice says. */
  readonly first: RegExp;
  /** What no advice says. */
  readonly never?: RegExp;
}

/** A server that is started once, and the cases that it is asked for. */
export interface BrokenServer {
  readonly title: string;
  readonly args?: readonly string[];
  /** The model's chat template in another form. */
  readonly template?: (text: string) => string;
  /** Another model, by its id, with that template. */
  readonly model?: string;
  readonly cases: readonly BrokenCase[];
}

/** The program and its children, by the name of their process. */
function signalCore(server: RunningEngine, signal: NodeJS.Signals): void {
  const table = execFileSync("ps", ["-eo", "pid,args"], { encoding: "utf8" }).split("\n");
  const listening = table.find((line) => line.includes(`--port ${server.port} `)) ?? "";
  const parent = Number(listening.trim().split(" ", 1)[0]);
  const children = execFileSync("ps", ["-o", "pid=,comm=", "--ppid", String(parent)], {
    encoding: "utf8",
  });
  const core = /(\d+) VLLM::EngineCor/.exec(children)?.[1];
  if (core === undefined) throw new Error(`no engine core below ${parent}: ${children}`);
  process.kill(Number(core), signal);
}

const THOUGHTLESS = (text: string) =>
  text.replace(/\{% if enable_thinking is defined[\s\S]*$/, "{% endif %}");

const NO_TOOLS = (text: string) =>
  text.replace(/\{%- if tools %\}[\s\S]*?\{% elif (messages\[0\])/, "{%- if $1");

/** Neither the system prompt nor what a tool brought. */
const WITHOUT_PARTS = (text: string) =>
  text
    .replace(/\{% if messages\[0\]\.role == 'system' %\}[\s\S]*?\{% endif %\}(?=<tools>)/, "")
    .replace(/\{% elif messages\[0\]\.role == 'system' %\}[\s\S]*?(?=\{% endif %\})/, "")
    .replace("for message in messages %}", "for message in messages if message.role != 'system' %}")
    .replace("{{ text(message.content) }}\n</tool_response>", "</tool_response>");

const PARSER = /tools\.parser/;
/** What was said of a server without being its cause. */
const OTHERS =
  /kind: base|qwen3_xml|chatTemplate|truncation|newer|0\.26 or later|autoChoice: true|KV cache is too small|Agents trim/;

export const BROKEN_SERVERS: readonly BrokenServer[] = [
  {
    title: "as it should be",
    cases: [
      { title: "nothing is wrong", first: /^$/ },
      {
        title: "the model writes hermes' calls",
        brain: "hermes",
        first: /tools\.parser: hermes/,
        never: /qwen3_xml|chatTemplate|autoChoice/,
      },
      {
        title: "it has another name",
        declared: { servedModelName: "coder" },
        first: /names/,
        never: OTHERS,
      },
      {
        title: "another model has its names",
        declared: { model: { id: "org/other", family: "qwen3", thinking: true } },
        first: /rig\/dense.*org\/other|org\/other.*rig\/dense/,
        never: OTHERS,
      },
      {
        title: "the model always thinks",
        brain: "thinks",
        first: /chatTemplate|enable_thinking/,
        never: /tools\.parser|truncation/,
      },
      {
        title: "the model never thinks",
        brain: "thoughtless",
        first: /model\.thinking: false/,
        never: /tools\.parser|truncation/,
      },
      {
        title: "the model never ends",
        brain: "endless",
        first: /never ends|does not end/,
        never: OTHERS,
      },
      {
        title: "its worker hangs",
        timeoutSeconds: 10,
        harm: (server) => {
          signalCore(server, "SIGSTOP");
          return () => signalCore(server, "SIGCONT");
        },
        first: /hang|stopped/,
        never: OTHERS,
      },
      {
        title: "its engine is killed meanwhile",
        harm: (server) => {
          const killing = setTimeout(() => signalCore(server, "SIGKILL"), 5_000);
          return () => clearTimeout(killing);
        },
        first: /died|dead/,
        never: OTHERS,
      },
    ],
  },
  {
    title: "parser hermes",
    args: ["--tool-call-parser", "hermes"],
    cases: [
      {
        title: "the stack file says so",
        declared: { tools: { parser: "hermes" } },
        first: /tools\.parser: qwen3_coder/,
        never: /chatTemplate|autoChoice/,
      },
    ],
  },
  {
    title: "no reasoning parser",
    args: ["--reasoning-parser", ""],
    cases: [{ title: "the stack file has one", first: /reasoning/, never: PARSER }],
  },
  {
    title: "the reasoning parser of another family",
    args: ["--reasoning-parser", "granite"],
    cases: [{ title: "the stack file has the family's", first: /reasoning/, never: PARSER }],
  },
  {
    title: "a reasoning parser that takes whole answers",
    args: ["--reasoning-parser", "deepseek_r1"],
    cases: [
      {
        title: "the stack file has the family's",
        first: /reasoning parser takes every answer/,
        never: /ignores|truncation|tools\.parser/,
      },
    ],
  },
  {
    title: "a tool parser whose tokens the model lacks",
    args: ["--tool-call-parser", "llama3_json"],
    cases: [
      {
        title: "nothing is answered",
        first: /tool parser that runs/,
        never: /Correct the template/,
      },
    ],
  },
  {
    title: "a template without some parts",
    template: WITHOUT_PARTS,
    cases: [
      {
        title: "they don't reach the model",
        first: /leaves out the system prompt and a tool's result/,
        never: /tools\.parser|truncation/,
      },
    ],
  },
  {
    title: "no tool choice",
    args: ["--no-enable-auto-tool-choice"],
    cases: [
      {
        title: "the stack file has it",
        first: /serving up/,
        never: /kind: base|qwen3_xml|chatTemplate|0\.26 or later|via: bridge/,
      },
    ],
  },
  {
    title: "a window of 2048",
    args: ["--max-model-len", "2048"],
    cases: [{ title: "the stack file has more", first: /2048.*serving up/, never: OTHERS }],
  },
  {
    title: "a template without tools",
    template: NO_TOOLS,
    cases: [{ title: "no call comes", first: /template/, never: /autoChoice|tools\.parser/ }],
  },
  {
    title: "a template with an error",
    template: (text) => `${text}{% if %}`,
    cases: [
      {
        title: "nothing is answered",
        first: /template/,
        never: /kind: base|autoChoice|tools\.parser/,
      },
    ],
  },
  {
    title: "no prefix cache",
    args: ["--no-enable-prefix-caching"],
    cases: [{ title: "the stack file has one", first: /serving up/, never: /hybrid|KV cache/ }],
  },
  {
    title: "a key",
    args: ["--api-key", "sk-not-for-everybody"],
    cases: [{ title: "nobody gives it", first: /key/, never: OTHERS }],
  },
  {
    title: "a cap of 8 tokens",
    args: ["--override-generation-config", '{"max_new_tokens": 8}'],
    cases: [{ title: "answers are cut off", first: /8 tokens/, never: OTHERS }],
  },
  {
    title: "a model without thinking",
    model: "org/nothink",
    template: THOUGHTLESS,
    cases: [
      {
        title: "the stack file says it thinks",
        declared: { model: { id: "org/nothink", family: "qwen3", thinking: true } },
        first: /model\.thinking: false/,
        never: PARSER,
      },
      { title: "under the names of another", first: /org\/nothink/, never: PARSER },
    ],
  },
];

/** The window that is declared, with room for the probe with the longest prompt. */
export const WINDOW = 65_536;

/** Starts one of them; `think` tells its model how to err. */
export async function startBroken(
  engine: Engine,
  { args = [], template, model = "rig/dense" }: BrokenServer,
): Promise<RunningEngine & { think(brain: string): void }> {
  const folder = temporaryFolder("broken-");
  const brain = join(folder, "brain");
  const think = (word: string) => writeFileSync(brain, word);
  think("healthy");
  const home = model === "rig/dense" ? engine.home : otherModel(engine, model, template, folder);
  const file = join(folder, "template.jinja");
  if (template !== undefined) writeFileSync(file, template(templateOf(engine)));
  const own = template === undefined || model !== "rig/dense" ? [] : ["--chat-template", file];
  const running = await answering(
    await startEngine(engine, {
      model,
      args: [
        ...["--served-model-name", "dense", "rig/dense", "--max-model-len", String(WINDOW)],
        ...["--enforce-eager", "--logits-processors", "brains:Brained", ...own, ...args],
      ],
      env: { BRAIN: brain, HF_HOME: home },
      before: ["nice", "-n", "5"],
    }),
  );
  return { ...running, think };
}

const SNAPSHOT = join("snapshots", "0".repeat(40));

const dense = ({ home }: Engine) => join(home, "hub", "models--rig--dense");

const templateOf = (engine: Engine) =>
  readFileSync(join(dense(engine), SNAPSHOT, "chat_template.jinja"), "utf8");

/** A hub's cache with one model, which is the dense one by another name and with another template. */
function otherModel(
  engine: Engine,
  model: string,
  template: BrokenServer["template"],
  folder: string,
): string {
  const repository = join(folder, "hub", `models--${model.replace("/", "--")}`);
  mkdirSync(repository, { recursive: true });
  cpSync(dense(engine), repository, { recursive: true, dereference: true });
  const text = template?.(templateOf(engine));
  if (text !== undefined) writeFileSync(join(repository, SNAPSHOT, "chat_template.jinja"), text);
  return folder;
}
