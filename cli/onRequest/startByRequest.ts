import { setTimeout as sleep } from "node:timers/promises";
import type { Outcome } from "@local-serving/base/commandLine/command";
import { Failed } from "@local-serving/base/commandLine/exit";
import { endingInOrder, interruption } from "@local-serving/base/commandLine/interrupt";
import { say } from "@local-serving/base/commandLine/output";
import type { InferenceServerPlan } from "../../components/inference-server";
import { quote } from "../sees/answer";
import { refusalText } from "../sees/api";
import { hostOf } from "../sees/host";
import { type LlamaSwap, SwapProblem } from "../sees/onDemand/llamaSwap";
import {
  llamaSwapOf,
  type OnDemandSeen,
  type SwapMachine,
  seeOnDemand,
} from "../sees/onDemand/onDemand";
import { clockTime, waitingFor } from "../sees/onDemand/swapFigures";
import { failedPath } from "../sees/onDemand/swapFiles";
import { tunnelTo } from "../sees/tunnel";
import { type StackFileOptions, stackFile } from "../stack/stackFile";
import { forStack, typedOn } from "../stack/typed";
import { keepStart } from "../verify/keptStarts";
import { type WaitedOn, waitedText, waitForServer } from "../wait/waitForServer";
import { freshBudget } from "./freshBudget";
import { goesOnText, noContainer } from "./startTexts";

/** A server that llama-swap starts, and where. */
export interface OnDemandServer {
  readonly machine: SwapMachine;
  readonly server: InferenceServerPlan;
}

/** Options of such a start. */
export interface StartByRequestOptions extends StackFileOptions {
  readonly yes?: true;
  readonly again?: true;
}

/** How such a start ended, where nobody broke it off. */
export interface Started {
  readonly waited: WaitedOn;
  /** Whether it ran before. */
  readonly ran: boolean;
}

/** Seconds between two looks, and between two lines that say the same. */
const [LOOK_MILLISECONDS, LINE_SECONDS] = [500, 60];

/** Beside the longest start: what llama-swap itself adds to it, and other servers' last requests. */
const MORE_SECONDS = 4 * 3600;

/** Starts a server by asking llama-swap for it, and waits until it is ready. */
export function startByRequest(
  one: OnDemandServer,
  options: StartByRequestOptions,
): Promise<Outcome> {
  return endingInOrder(async (signal) => {
    const { machine, server } = one;
    const start = { machine: machine.name, container: server.container.name };
    const started = await startedByRequest(one, options, signal);
    if (typeof started === "string") {
      if (signal.aborted) say(started);
      return { result: { start, stopped: [], waited: null }, text: started, failed: true };
    }
    const { waited } = started;
    return {
      result: { start, stopped: [], waited },
      text: waitedText(waited),
      failed: waited.outcome !== "ready",
    };
  });
}

/**
 * The same for a command that goes on with it: how it ended, or why it did not begin or was broken
 * off. Throws `Failed` where llama-swap gives no answer, or refuses the server.
 */
export async function startedByRequest(
  one: OnDemandServer,
  options: StartByRequestOptions,
  signal: AbortSignal,
): Promise<Started | string> {
  const { machine } = one;
  const tunnel = await tunnelTo(machine);
  try {
    const swap = await llamaSwapOf(machine, tunnel);
    return await new ByRequest(one, swap, { options, signal }).run();
  } catch (error) {
    throw error instanceof SwapProblem ? swapFailure(error, machine) : error;
  } finally {
    tunnel.close();
  }
}

/** The problem, and what starts llama-swap. */
export function swapFailure({ kind, message }: SwapProblem, machine: SwapMachine): Failed {
  if (kind !== "silent") return new Failed(`${message}.`);
  const start = typedOn(machine, ["systemctl", "--user", "start", machine.onDemand.unit]);
  return new Failed(
    `${message}. \`${start}\` starts it; \`serving logs on-demand\` says why it ended.`,
  );
}

class ByRequest {
  private readonly host;
  private readonly began = Date.now();

  constructor(
    private readonly one: OnDemandServer,
    private readonly swap: LlamaSwap,
    private readonly given: {
      readonly options: StartByRequestOptions;
      readonly signal: AbortSignal;
    },
  ) {
    this.host = hostOf(one.machine.dockerHost);
  }

  async run(): Promise<Started | string> {
    const { machine, server } = this.one;
    const { options } = this.given;
    const { key, container } = server;
    await this.swap.states();
    const states = await this.host.containers();
    const own = states.find(({ name }) => name === container.name);
    if (own === undefined) throw noContainer(container.name, machine.name, options);
    const ran = own.status === "running";
    if (ran) say(`${key} runs already.`);
    if (options.again) await this.forget();
    const asked = this.ask();
    const refused = ran ? undefined : await this.untilItRuns(asked);
    if (refused !== undefined) return refused;
    return this.wait(ran);
  }

  /** Lets the wrapper and the start gate forget failed starts. */
  private async forget(): Promise<void> {
    const { machine, server } = this.one;
    await this.host.ask(["rm", "-f", "--", failedPath(machine.onDemand, server.key)]);
    await freshBudget(machine.dockerHost, server.container.name);
  }

  /** Asks llama-swap for the server; what it says where that doesn't end well, else "". */
  private ask(): { answer: string | undefined } {
    const { machine, server } = this.one;
    const seconds = machine.onDemand.startWithinMinutes * 60 + MORE_SECONDS;
    const asked: { answer: string | undefined } = { answer: undefined };
    void this.swap.start(server.key, seconds).then(
      (answer) => {
        asked.answer = answer.status === 200 ? "" : refusalText(answer);
      },
      (error: Error) => {
        asked.answer = error.message;
      },
    );
    return asked;
  }

  /** Waits until the container runs. Returns why nobody waits for it any more. */
  private async untilItRuns(asked: { answer: string | undefined }): Promise<string | undefined> {
    const { machine, server } = this.one;
    const { signal } = this.given;
    const { key } = server;
    let said = { text: "", at: Date.now() };
    for (;;) {
      const over = asked.answer;
      const seen = await seeOnDemand(machine, this.host, this.swap);
      if (seen.containers.get(key)?.status === "running") return undefined;
      this.expectNoRefusal(seen, over);
      if (signal.aborted)
        return `The request for ${key} was ${interruption(signal)}: nothing starts.`;
      const own = { key, since: new Date(this.began).toISOString() };
      const waits = waitingFor(machine, { ...seen, requests: [...seen.requests, own] });
      const found = waits.find((each) => each.key === key && each.busy.length > 0);
      const text = found?.text ?? said.text;
      if (text !== said.text || Date.now() - said.at > LINE_SECONDS * 1000) {
        said = { text, at: Date.now() };
        say(`${text === "" ? `${key} waits for llama-swap` : text}.`);
      }
      await sleep(LOOK_MILLISECONDS);
    }
  }

  /** Throws `Failed` where the server was refused, or its request is over before it runs. */
  private expectNoRefusal({ events, failed }: OnDemandSeen, over: string | undefined): void {
    const { key } = this.one.server;
    const refused = events.findLast(
      (each) =>
        each.server === key && each.event === "refused" && Date.parse(each.at) >= this.began,
    );
    const { sentence, until } = failed.get(key) ?? {};
    if (refused !== undefined)
      throw new Failed(
        `${refused.reason ?? sentence ?? `${key} did not start`}.${until === undefined ? "" : this.retryText(until)}`,
      );
    if (over === "")
      throw new Failed(`${key} was ready, but has stopped again. See: serving logs ${key}`);
    if (over !== undefined)
      throw new Failed(`llama-swap did not start ${key}: ${quote(over)}. See: serving logs ${key}`);
  }

  private retryText(until: string): string {
    const again = forStack(`serving start ${this.one.server.key} --again`, this.given.options);
    return ` It isn't tried again before ${clockTime(until)}: \`${again}\` tries at once.`;
  }

  private async wait(ran: boolean): Promise<Started | string> {
    const { machine, server } = this.one;
    const { options, signal } = this.given;
    const { key, container } = server;
    const within = machine.onDemand.startWithinMinutes * 60 + container.stopGraceSeconds;
    const [waited] = await waitForServer([this.one], within, () => signal.aborted);
    if (waited === undefined) return goesOnText(key, signal, options);
    if (waited.outcome === "ready") {
      if (!ran) keepStart(stackFile(options), machine.name, { container, seconds: waited.seconds });
      return { waited, ran };
    }
    const seen = await seeOnDemand(machine, this.host, this.swap);
    const { sentence, until } = seen.failed.get(key) ?? {};
    const reason =
      sentence === undefined ? waited.reason : `${sentence}.${this.retryText(until ?? "")}`;
    return { waited: { ...waited, reason }, ran };
  }
}
