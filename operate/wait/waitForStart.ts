import { setTimeout as sleep } from "node:timers/promises";
import { Failed } from "../../commandLine/exit";
import { type ContainerState, startedAgain } from "../../machines/docker/containers";
import { redact } from "../programs/redact";
import type { Following } from "../sees/containerLog";
import { GATE_OPENS } from "../sees/gateLines";
import type { Host } from "../sees/host";
import { RAISED } from "../sees/log/sign";
import { afterLine, beforeContainer, type Phase, START, type StartProgress } from "../sees/phases";

export interface WaitResult {
  readonly container: string;
  /** `left`: another rank of the server ended first. */
  readonly outcome: "ready" | "died" | "timeout" | "left";
  readonly seconds: number;
  /** Phase that it ended in. */
  readonly phase: Phase;
  readonly reason: string;
  /** The line of its log that says what it died of; "" where none does. */
  readonly cause: string;
  /** The end of the container's log, when it did not become ready. */
  readonly lastLines: readonly string[];
}

export interface WaitOptions {
  readonly container: string;
  readonly image: string;
  /** The machine that it runs on; of a machine only this is looked at. */
  readonly host: Pick<Host, "containers" | "imageIsThere" | "downloadedBytes" | "follow">;
  /**
   * Whether the server itself says that it is ready; "unknown" where it can't be asked from here.
   */
  readonly healthy: (state: ContainerState) => Promise<boolean | "unknown">;
  /** Whether nobody waits for it any more. */
  readonly over?: () => boolean;
  readonly timeoutSeconds: number;
  /** Milliseconds between two looks. */
  readonly intervalMilliseconds: number;
  readonly progress: (progress: StartProgress, seconds: number) => void;
}

/** Lines of the log that are shown when a start fails: a Python traceback is about this long. */
const LAST_LINES = 30;

/** Longest line that is shown: vLLM prints its whole configuration in one of 5,000 characters. */
const LINE_CHARACTERS = 400;

function shortened(line: string): string {
  return line.length <= LINE_CHARACTERS ? line : `${line.slice(0, LINE_CHARACTERS)} ...`;
}

/** Lines that are kept, so that a private key of several lines is known by its first. */
const KEPT_LINES = 120;

/**
 * Follows one start to its end: ready, dead, or out of time. The container itself is only looked
 * at.
 */
export async function waitForStart(options: WaitOptions): Promise<WaitResult> {
  const { container, image, host, intervalMilliseconds, timeoutSeconds } = options;
  const started = performance.now();
  const seconds = () => (performance.now() - started) / 1000;
  const lines: string[] = [];
  let cause = "";
  let progress: StartProgress = { phase: "waiting for the container" };
  let followed: (Following & { readonly startedAt: string }) | undefined;
  let answered = false;
  let first: ContainerState | undefined;
  const result = (outcome: WaitResult["outcome"], reason: string): WaitResult => ({
    container,
    outcome,
    seconds: seconds(),
    phase: progress.phase,
    reason: redact(reason),
    cause: outcome === "died" ? shortened(redact(cause)).trim() : "",
    // vLLM prints the arguments that it was started with, a key among them.
    lastLines:
      outcome === "ready"
        ? []
        : redact(lines.join("\n")).split("\n").slice(-LAST_LINES).filter(Boolean).map(shortened),
  });
  const follow = (since: string) =>
    host.follow(container, since, (line) => {
      progress = afterLine(progress, line);
      if (GATE_OPENS.test(line)) [lines.length, cause] = [0, ""];
      if (RAISED.pattern.test(line)) cause = line;
      if (line.trim() !== "") lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
    });
  try {
    for (;;) {
      const looked = await stateOf(container, host).catch(orFailed);
      // A machine that loads a model may be too busy to answer; one that never answered has no
      // Docker.
      if (looked instanceof Failed && !answered) throw looked;
      answered = true;
      const state = looked instanceof Failed ? undefined : looked;
      if (looked instanceof Failed) {
        options.progress({ ...progress, note: looked.message }, seconds());
      } else if (state === undefined) {
        const here = await host.imageIsThere(image);
        progress = beforeContainer(here, here ? 0 : await host.downloadedBytes());
      } else if (state.status === "created") {
        // Never started: briefly on its way, or for good if Docker can't start it.
        progress = { phase: "container not started" };
        if (state.error !== "") return result("died", `Docker can't start it: ${state.error}`);
      } else {
        first ??= state;
        const death = deathOf(state, first);
        // If Docker restarted the container, show the log of the failed start, not the next one.
        if (
          followed === undefined ||
          (death === undefined && followed.startedAt !== state.startedAt)
        ) {
          followed?.stop();
          if (state.status === "running" || followed === undefined) progress = START;
          followed = { startedAt: state.startedAt, ...follow(state.startedAt) };
        } else if (death === undefined && followed.ended() && state.status === "running") {
          const aMomentAgo = new Date(Date.now() - OVERLAP_MILLISECONDS).toISOString();
          followed = { startedAt: state.startedAt, ...follow(aMomentAgo) };
        }
        if (death !== undefined) {
          await sleep(intervalMilliseconds); // The last lines are still on their way.
          return result("died", death);
        }
        if (progress.phase === "gate closed") return result("died", progress.note ?? "");
        const healthy = await options.healthy(state);
        if (healthy === true || (healthy === "unknown" && state.health === "healthy")) {
          progress = { phase: "ready" };
          options.progress(progress, seconds());
          return result("ready", "");
        }
      }
      if (options.over?.() === true) return result("left", "");
      if (!(looked instanceof Failed)) options.progress(progress, seconds());
      if (seconds() >= timeoutSeconds) {
        return result("timeout", `not ready after ${timeoutSeconds} s (${progress.phase})`);
      }
      await sleep(
        Math.min(
          intervalMilliseconds,
          Math.max(0, timeoutSeconds * 1000 - (performance.now() - started)),
        ),
      );
    }
  } finally {
    followed?.stop();
  }
}

/** Docker starts a container again by its restart policy: a count that grows is a death too. */
function deathOf(state: ContainerState, first: ContainerState): string | undefined {
  const ended = ["exited", "dead", "restarting"].includes(state.status);
  if (!ended && state.restartCount <= first.restartCount) return undefined;
  // Of one that runs again the engine no longer says how it ended.
  const how = ended || state.exitCode !== 0 ? ` with exit code ${state.exitCode}` : "";
  const memory = state.oomKilled ? ", killed for memory" : "";
  const again = state.restartCount > 0 ? `; ${startedAgain(state.restartCount)}` : "";
  return `it ended${how}${memory}${again}`;
}

async function stateOf(
  container: string,
  host: Pick<Host, "containers">,
): Promise<ContainerState | undefined> {
  return (await host.containers()).find(({ name }) => name === container);
}

function orFailed(error: unknown): Failed {
  if (error instanceof Failed) return error;
  throw error;
}

/** How far to go back when a log is followed again, so that nothing said in between is missed. */
const OVERLAP_MILLISECONDS = 5000;
