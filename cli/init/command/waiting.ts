import { defined } from "@local-serving/base/faults/defined";
import { baseName } from "@local-serving/vllm/argv/unknown";
import { containerRunIn, inContainer, insideOf } from "./containerStart";
import type { DockerRun } from "./dockerOptions";
import type { Fronted } from "./front";
import type { Launch } from "./started";
import { expansions, type LeftOut } from "./words";

/** A container that a script starts, and that runs what later commands give it. */
export interface WaitingContainer {
  readonly run: DockerRun;
  readonly name?: string;
  /** The line of its `docker run`. */
  readonly line?: number;
  /** What later commands prepared inside it. */
  readonly before: LeftOut[];
  /** Variables that its shell hands on. */
  readonly exported: Map<string, string>;
}

/** A shell that somebody types into. */
const SHELL = /^(?:ba|da|z|a)?sh$/;

/** Whether words are a shell that reads commands from whoever started it. */
const isShell = ([program = "", ...rest]: readonly string[]): boolean =>
  SHELL.test(baseName(program)) && rest.every((word) => /^-(?:[il]+|-login)$/.test(word));

/** The containers of a script, by which a command runs inside one of them. */
export class WaitingContainers {
  private readonly all: WaitingContainer[] = [];
  /** The container whose shell the next commands are typed into. */
  private inside: WaitingContainer | undefined;

  /** Takes a container that starts no server by itself. */
  take(words: readonly string[], line?: number): void {
    const run = containerRunIn(words);
    if (run?.image === undefined) return;
    const name = run.options.find((option) => option.name === "name")?.value;
    const waiting: WaitingContainer = {
      run,
      before: [],
      exported: new Map(),
      ...(name === undefined ? {} : { name }),
      ...(line === undefined ? {} : { line }),
    };
    this.all.push(waiting);
    const has = (option: string) => run.options.some((each) => each.name === option);
    const { command } = insideOf(run);
    const reads = isShell(command) || (command.length === 0 && has("tty"));
    if (reads && !has("detach")) this.inside = waiting;
  }

  /** Where the variables are that a command at this place hands on; outside of containers, `outside`. */
  exported(outside: Map<string, string>): Map<string, string> {
    return this.inside?.exported ?? outside;
  }

  /** The container that a command runs in, told by `docker exec` or by the shell before it. */
  of({ words, container, isElsewhere }: Fronted): WaitingContainer | undefined {
    if (words[0] === "exit") this.inside = undefined;
    if (container === undefined) return isElsewhere ? undefined : this.inside;
    const found = this.named(container);
    if (found !== undefined && isShell(words)) this.inside = found;
    return found;
  }

  private named(container: string): WaitingContainer | undefined {
    const named = this.all.findLast(({ name }) => name === container);
    // An id is known only as the script runs: that of the only container.
    const isUnknown = expansions(container).length > 0 || /^[<[{]|^CONTAINER/.test(container);
    return named ?? (isUnknown && this.all.length === 1 ? this.all[0] : undefined);
  }
}

/** The servers that a command starts inside a container that waits for it. */
export function startedInside(
  { run, line, before }: WaitingContainer,
  words: readonly string[],
  variables: ReadonlyMap<string, string>,
): readonly Launch[] {
  const options = [
    ...run.options.filter(({ name }) => name !== "entrypoint"),
    ...[...variables].map(([name, value]) => ({ name: "env", value: `${name}=${value}` })),
    // The image's own program doesn't run.
    { name: "entrypoint", value: "" },
  ];
  const told = `It runs in the container of \`docker run\`${line === undefined ? "" : ` (line ${line})`}, whose options are read.`;
  return inContainer({ ...run, options, rest: words }).map((launch) => ({
    ...launch,
    ...defined({ from: line }),
    leftOut: [...launch.leftOut, ...before],
    told: [...(launch.told ?? []), told],
  }));
}
