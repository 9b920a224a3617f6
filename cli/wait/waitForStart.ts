import { setTimeout as sleep } from "node:timers/promises";
import { Failed } from "@local-serving/base/commandLine/exit";
import { type ContainerState, startedAgain } from "@local-serving/machines/docker/containers";
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

interface WaitOptions {
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
  const { intervalMilliseconds, timeoutSeconds } = options;
  const started = performance.now();
  const seconds = () => (performance.now() - started) / 1000;
  const start = new FollowedStart(options);
  try {
    for (;;) {
      const looked = await start.look();
      if (looked.outcome === "ready") options.progress(start.progress, seconds());
      if (looked.outcome !== undefined) return start.result(looked, seconds());
      // While Docker gives no answer, its words are shown and nothing else.
      const { note } = looked;
      if (note !== undefined) options.progress({ ...start.progress, note }, seconds());
      if (options.over?.() === true)
        return start.result({ outcome: "left", reason: "" }, seconds());
      if (note === undefined) options.progress(start.progress, seconds());
      if (seconds() >= timeoutSeconds) {
        const reason = `not ready after ${timeoutSeconds} s (${start.progress.phase})`;
        return start.result({ outcome: "timeout", reason }, seconds());
      }
      const left = timeoutSeconds * 1000 - (performance.now() - started);
      await sleep(Math.min(intervalMilliseconds, Math.max(0, left)));
    }
  } finally {
    start.stop();
  }
}

type Ending = Pick<WaitResult, "outcome" | "reason">;

/** What one look saw: how the start ended, or `note`, why Docker gives no answer, or neither. */
type Look = Ending | { readonly outcome?: never; readonly note?: string };

/** A start, and what was read of its log so far. */
class FollowedStart {
  progress: StartProgress = { phase: "waiting for the container" };
  private readonly lines: string[] = [];
  private cause = "";
  private followed: (Following & { readonly startedAt: string }) | undefined;
  private answered = false;
  private first: ContainerState | undefined;

  constructor(private readonly options: WaitOptions) {}

  async look(): Promise<Look> {
    const { container, image, host } = this.options;
    const looked = await stateOf(container, host).catch(orFailed);
    // A machine that loads a model may be too busy to answer; one that never answered has no
    // Docker.
    if (looked instanceof Failed && !this.answered) throw looked;
    this.answered = true;
    if (looked instanceof Failed) return { note: looked.message };
    if (looked === undefined) {
      const here = await host.imageIsThere(image);
      this.progress = beforeContainer(here, here ? 0 : await host.downloadedBytes());
      return {};
    }
    if (looked.status !== "created") return this.lookAtStarted(looked);
    // Never started: briefly on its way, or for good if Docker can't start it.
    this.progress = { phase: "container not started" };
    return looked.error === ""
      ? {}
      : { outcome: "died", reason: `Docker can't start it: ${looked.error}` };
  }

  private async lookAtStarted(state: ContainerState): Promise<Look> {
    this.first ??= state;
    const death = deathOf(state, this.first);
    this.followLog(state, death !== undefined);
    if (death !== undefined) {
      await sleep(this.options.intervalMilliseconds); // The last lines are still on their way.
      return { outcome: "died", reason: death };
    }
    if (this.progress.phase === "gate closed")
      return { outcome: "died", reason: this.progress.note ?? "" };
    const healthy = await this.options.healthy(state);
    if (healthy !== true && (healthy === false || state.health !== "healthy")) return {};
    this.progress = { phase: "ready" };
    return { outcome: "ready", reason: "" };
  }

  /** If Docker restarted the container, the log of the failed start counts, not the next one. */
  private followLog({ status, startedAt }: ContainerState, isDead: boolean): void {
    const { followed } = this;
    if (followed === undefined || (!isDead && followed.startedAt !== startedAt)) {
      followed?.stop();
      if (status === "running" || followed === undefined) this.progress = START;
      this.followed = { startedAt, ...this.follow(startedAt) };
    } else if (!isDead && followed.ended() && status === "running") {
      const aMomentAgo = new Date(Date.now() - OVERLAP_MILLISECONDS).toISOString();
      this.followed = { startedAt, ...this.follow(aMomentAgo) };
    }
  }

  private follow(since: string): Following {
    const { lines } = this;
    return this.options.host.follow(this.options.container, since, (line) => {
      this.progress = afterLine(this.progress, line);
      if (GATE_OPENS.test(line)) {
        lines.length = 0;
        this.cause = "";
      }
      if (RAISED.pattern.test(line)) this.cause = line;
      if (line.trim() !== "") lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
    });
  }

  result({ outcome, reason }: Ending, seconds: number): WaitResult {
    const log = outcome === "ready" ? [] : redact(this.lines.join("\n")).split("\n");
    return {
      container: this.options.container,
      outcome,
      seconds,
      phase: this.progress.phase,
      reason: redact(reason),
      cause: outcome === "died" ? shortened(redact(this.cause)).trim() : "",
      // vLLM prints the arguments that it was started with, a key among them.
      lastLines: log.slice(-LAST_LINES).filter(Boolean).map(shortened),
    };
  }

  stop(): void {
    this.followed?.stop();
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
