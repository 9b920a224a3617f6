import { type ChildProcess, spawn } from "node:child_process";
import { docker } from "../docker";
import { isJsonObject, objectOr, parseJson, textOr } from "../verify/json";

/** A container's state as Docker has it. */
export interface ContainerState {
  /** `running`, `restarting`, `exited`, ... */
  readonly status: string;
  readonly startedAt: string;
  readonly exitCode: number;
  readonly outOfMemory: boolean;
  /** How often Docker has started it again after it ended. */
  readonly restarts: number;
  /** `healthy`, `starting`, ...; "" without a health check. */
  readonly health: string;
}

/** What `wait` needs of Docker. It only reads. */
export interface ContainerReader {
  /** `undefined` when there is no such container. Throws `Failed` when Docker does not answer. */
  state(name: string): Promise<ContainerState | undefined>;
  imageIsThere(image: string): Promise<boolean>;
  /** Hands every line of the log since the container's start to `line`, until the returned function is called. */
  follow(name: string, since: string, line: (text: string) => void): () => void;
}

/** Longest piece of a log line that is kept: a line without an end must not fill the memory. */
const LONGEST_LINE = 8192;

const INSPECT_SECONDS = 20;

export function dockerReader(dockerHost: string): ContainerReader {
  const at = ["--host", dockerHost];
  return {
    state: async (name) => {
      // `ps` first: it fails only when Docker does, and not when the container is missing.
      const there = await docker(
        [...at, "ps", "--all", "--quiet", "--filter", `name=^/${name}$`],
        INSPECT_SECONDS,
      );
      if (there.trim() === "") return undefined;
      const text = await docker([...at, "inspect", "--type", "container", name], INSPECT_SECONDS).catch(
        () => "",
      );
      const [found] = (parseJson(text) ?? []) as unknown[];
      return isJsonObject(found) ? stateOf(found) : undefined;
    },
    imageIsThere: (image) =>
      docker([...at, "image", "inspect", "--format", "{{.Id}}", image], INSPECT_SECONDS).then(
        () => true,
        () => false,
      ),
    follow: (name, since, line) => {
      const child = spawn("docker", [...at, "logs", "--follow", "--since", since, name], {
        stdio: ["ignore", "pipe", "pipe"],
      });
      child.on("error", () => {}); // The state says that Docker is gone.
      for (const stream of [child.stdout, child.stderr]) eachLine(stream, line);
      return () => end(child);
    },
  };
}

function stateOf(found: Readonly<Record<string, unknown>>): ContainerState {
  const state = objectOr(found.State);
  const number = (value: unknown) => (typeof value === "number" ? value : 0);
  return {
    status: textOr(state.Status),
    startedAt: textOr(state.StartedAt),
    exitCode: number(state.ExitCode),
    outOfMemory: state.OOMKilled === true,
    restarts: number(found.RestartCount),
    health: textOr(objectOr(state.Health).Status),
  };
}

/** Progress bars end their lines with a carriage return. */
function eachLine(stream: NodeJS.ReadableStream, line: (text: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    const parts = (rest + chunk).split(/\r\n|\n|\r/);
    rest = (parts.pop() ?? "").slice(-LONGEST_LINE);
    for (const part of parts) line(part.slice(0, LONGEST_LINE));
  });
}

function end(child: ChildProcess): void {
  child.stdout?.destroy();
  child.stderr?.destroy();
  child.kill();
}
