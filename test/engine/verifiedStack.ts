import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ask } from "@local-serving/base/http/ask";
import { type PinnedImage, pinnedImage } from "../docker/image";
import type { ImageOptions } from "../docker/makeImage";
import { freePort } from "../layers/freePort";
import { type Finished, run } from "../layers/run";
import { type StackParts, stackConfig } from "./stackConfig";
import { Workspace } from "./workspace";

/** A model's folder inside the image: nothing has to be loaded for it. */
const MODEL = { id: "/opt/stand-in/model", inImage: true, family: "qwen3", thinking: true };

/** What tests give a stack beside one server of the stand-in. */
export interface VerifiedStackOptions {
  /** Settings of the server and of the machine that each text of the stack file has. */
  readonly server?: Readonly<Record<string, unknown>>;
  readonly machine?: Readonly<Record<string, unknown>>;
  /** What the home holds before anything is applied. */
  readonly prepare?: (home: string) => Promise<void>;
  /** The longest that one command may take. */
  readonly limitSeconds?: number;
}

/** An image of the stand-in whose vLLM is this script. */
export const brokenImage = (script: string, more: ImageOptions = {}): Promise<PinnedImage> =>
  pinnedImage({ ...more, programs: { vllm: `#!/bin/sh\n${script}\n`, ...more.programs } });

/** What a signal reaches: `serving` alone, or everything that it started. */
type Whom = "command" | "everything";

/** A stack of a server that is applied and verified, and what tests do with it. */
export class VerifiedStack {
  private constructor(
    readonly workspace: Workspace,
    readonly parts: StackParts,
    private readonly options: VerifiedStackOptions,
  ) {}

  /**
   * Applies the stack with an image, by default the stand-in's, and verifies it: from then on it can
   * be gone back to.
   */
  static async open(
    image?: PinnedImage,
    options: VerifiedStackOptions = {},
  ): Promise<VerifiedStack> {
    const [portA, portB] = [await freePort(), await freePort()];
    const parts = { image: image ?? (await pinnedImage()), portA, portB, unique: `v${portB}` };
    const workspace = await Workspace.open({ config: {} });
    const stack = new VerifiedStack(workspace, parts, options);
    await options.prepare?.(workspace.home);
    stack.configure();
    const { limitSeconds = 120 } = options;
    for (const words of [["up", "--yes"], ["wait", "--timeout", `${limitSeconds}`], ["verify"]]) {
      const done = await stack.serving(...words);
      if (done.code === 0) continue;
      await workspace.close();
      throw new Error(`serving ${words.join(" ")}: ${done.stdout}${done.stderr}`);
    }
    return stack;
  }

  /** Writes the stack file with another image, or other settings of the server or the machine. */
  configure(
    image = this.parts.image,
    server: Record<string, unknown> = {},
    machine: Record<string, unknown> = {},
  ): void {
    const { options } = this;
    this.workspace.configure(
      stackConfig(
        { ...this.parts, image },
        { model: MODEL, ...options.server, ...server },
        { instanceA: "none", startWithinMinutes: 1, ...options.machine, ...machine },
      ),
    );
  }

  get file(): string {
    return join(this.workspace.project, `Pulumi.${this.workspace.stack}.yaml`);
  }

  /** The record of the update, as text; `undefined` where there is none. */
  record(): string | undefined {
    const file = join(this.workspace.home, ".local/share/local-serving/dgx/update.json");
    return existsSync(file) ? readFileSync(file, "utf8") : undefined;
  }

  /** The name that the server serves. */
  get model(): string {
    return String(this.options.server?.servedModelName ?? `model-${this.parts.unique}`);
  }

  get container(): string {
    return `vllm-${this.model}-${this.parts.portB}`;
  }

  /** A command line that starts `serving` of this stack. */
  words(...args: readonly string[]): [program: string, ...args: string[]] {
    const [command = "", ...rest] = args;
    const program = join(this.workspace.project, "bundle/serving.cjs");
    return ["node", program, command, "--stack", this.workspace.stack, ...rest];
  }

  serving(...args: readonly string[]): Promise<Finished> {
    return this.servingWith({}, ...args);
  }

  servingWith(
    env: Readonly<Record<string, string>>,
    ...args: readonly string[]
  ): Promise<Finished> {
    const [program, ...words] = this.words(...args);
    return run(program, words, {
      cwd: this.workspace.project,
      env: { ...this.workspace.env, ...env },
      limitSeconds: this.options.limitSeconds ?? 600,
    });
  }

  /**
   * Starts `serving` and kills it once it has said something: itself alone, which leaves the engine
   * running, or everything that it started. Resolves when it is gone; gives what it had said.
   */
  killed(at: RegExp, whom: Whom, ...args: readonly string[]): Promise<string> {
    return this.signalled(at, { whom, signal: "SIGKILL" }, ...args);
  }

  /** Does the same by another signal. */
  signalled(
    at: RegExp,
    { whom, signal }: { readonly whom: Whom; readonly signal: NodeJS.Signals },
    ...args: readonly string[]
  ): Promise<string> {
    const [program, ...words] = this.words(...args);
    const child = spawn(program, words, {
      cwd: this.workspace.project,
      env: { ...process.env, ...this.workspace.env },
      detached: true,
    });
    const pid = child.pid ?? 0;
    let [said, done] = ["", false];
    const hear = (text: string) => {
      said += text;
      if (done || !at.test(said)) return;
      done = true;
      process.kill(whom === "command" ? pid : -pid, signal);
    };
    child.stdout.setEncoding("utf8").on("data", hear);
    child.stderr.setEncoding("utf8").on("data", hear);
    return new Promise((resolve, reject) =>
      child.on("exit", (code) =>
        done ? resolve(said) : reject(new Error(`it ended with ${code} before ${at}:\n${said}`)),
      ),
    );
  }

  /** The image of the container that runs, and when it was started. */
  async running(
    container = this.container,
  ): Promise<{ readonly image: string; readonly startedAt: string }> {
    const format = "{{.State.Running}} {{.Config.Image}} {{.State.StartedAt}}";
    const { stdout } = await run("docker", ["inspect", "--format", format, container]);
    const [isRunning, image = "", startedAt = ""] = stdout.trim().split(" ");
    return isRunning === "true" ? { image, startedAt } : { image: "", startedAt: "" };
  }

  /**
   * Whether the server answers with a call of a tool. The real vLLM takes a `required` one as JSON
   * alone, which a scripted model doesn't say.
   */
  async callsTools(choice: "auto" | "required" = "required"): Promise<boolean> {
    const { text } = await ask(`http://127.0.0.1:${this.parts.portB}/v1/chat/completions`, {
      timeoutSeconds: 20,
      body: {
        model: this.model,
        messages: [{ role: "user", content: "Read the file example with read_file." }],
        tools: [
          {
            type: "function",
            function: {
              name: "read_file",
              parameters: { type: "object", properties: { path: { type: "string" } } },
            },
          },
        ],
        tool_choice: choice,
      },
    });
    return text.includes('"tool_calls"') && text.includes("read_file");
  }

  close(): Promise<void> {
    return this.workspace.close();
  }
}
