import type { Outcome } from "../../commandLine/command";
import { Failed } from "../../commandLine/exit";
import { endingInOrder, untilInterrupted } from "../../commandLine/interrupt";
import { say } from "../../commandLine/output";
import type { InferenceServerPlan } from "../../components/inference-server";
import type { MachinePlan } from "../../components/plan";
import { untilIdle } from "../../components/program";
import { listOf } from "../../faults/quoting";
import { docker } from "../../machines/docker/docker";
import { parseMeminfo } from "../../machines/memory";
import { doctorText } from "../doctor/report/diagnose";
import { diagnoseMachine } from "../doctor/report/diagnoseMachine";
import { type Host, hostOf } from "../sees/host";
import { type StackFileOptions, stackFile } from "../stack/stackFile";
import { forStack } from "../stack/typed";
import { keepStart } from "../verify/keptStarts";
import { START_SECONDS } from "../wait/startSeconds";
import { type WaitedOn, waitedText, waitForServer } from "../wait/waitForServer";
import { freshBudget } from "./freshBudget";
import { type GivesWay, giveWay } from "./giveWay";
import { agreeToStops, goesOnText, noContainer, stoppedText } from "./startTexts";

/** Options of a start. */
export interface StartCommandOptions extends StackFileOptions {
  readonly yes?: true;
  readonly again?: true;
}

/** A server that starts on request, and where. */
interface OnRequestServer {
  readonly machine: MachinePlan;
  readonly server: InferenceServerPlan;
}

/** Seconds for Docker's answer, beside the time that a container gets to end. */
const ANSWER_SECONDS = 60;

/**
 * Starts a server for which others may have to stop: says who, asks, lets their requests end, stops
 * them, and waits until it is ready.
 */
export function startOnRequest(
  one: OnRequestServer,
  options: StartCommandOptions,
): Promise<Outcome> {
  return endingInOrder((signal) => new Start(one, options, signal).run());
}

/** A start, and what it stopped so far. */
class Start {
  private readonly stopped: InferenceServerPlan[] = [];
  private readonly host: Host;
  private began = false;

  constructor(
    private readonly one: OnRequestServer,
    private readonly options: StartCommandOptions,
    private readonly signal: AbortSignal,
  ) {
    this.host = hostOf(one.machine.dockerHost);
  }

  async run(): Promise<Outcome> {
    const { key } = this.one.server;
    const seen = await this.look();
    if (seen.runs) {
      say(`${key} runs already.`);
      return this.wait();
    }
    if (seen.refused !== undefined) throw new Failed(`${seen.refused} Nothing was changed.`);
    if (seen.stops.length > 0 && !(await this.agreed(seen)))
      return this.ended("Nothing was changed.");
    try {
      for (const server of this.planned(seen)) {
        await this.stop(server);
        if (this.signal.aborted) return this.ended(this.situation());
      }
      await this.start();
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      throw new Failed(`${error.message} ${this.situation()}`);
    }
    return this.wait();
  }

  /** Who has to stop by what runs now. Throws `Failed` where there is no container to start. */
  private async look(): Promise<GivesWay & { readonly runs: boolean }> {
    const { machine, server } = this.one;
    const { name } = server.container;
    const states = await this.host.containers();
    const own = states.find((each) => each.name === name);
    if (own === undefined) throw noContainer(name, machine.name, this.options);
    const { together } = machine;
    const given: GivesWay =
      together === undefined
        ? { stops: [], why: "" }
        : giveWay(machine, together, server.key, states);
    return { ...given, runs: own.status === "running" };
  }

  private planned({ stops }: GivesWay): InferenceServerPlan[] {
    return stops.flatMap(
      ({ container }) =>
        this.one.machine.inferenceServers.find((each) => each.container.name === container) ?? [],
    );
  }

  private agreed(seen: GivesWay): Promise<boolean> {
    const { machine, server } = this.one;
    const minutes = machine.waitForRequestsMinutes;
    const ends =
      minutes === 0
        ? "Running requests are cut off (`waitForRequestsMinutes: 0`)."
        : `Running requests get ${minutes} min to end.`;
    const { options, signal } = this;
    return agreeToStops(seen, server.key, `first. ${ends}`, { options, signal });
  }

  /** Lets a server's requests end, and stops it. */
  private async stop(server: InferenceServerPlan): Promise<void> {
    const { machine } = this.one;
    const { name, stopGraceSeconds } = server.container;
    const tell = (sentence: string, kind: string) => {
      if (kind !== "passing" || process.stderr.isTTY === true) say(sentence);
    };
    const idle = untilIdle({ machine, server }, machine.waitForRequestsMinutes, tell);
    await untilInterrupted(idle, this.signal);
    if (this.signal.aborted) return;
    await docker(["stop", name], machine.dockerHost, ANSWER_SECONDS + stopGraceSeconds);
    this.stopped.push(server);
    const { availableGiB } = parseMeminfo(await this.host.meminfo()) ?? {};
    say(stoppedText(name, availableGiB));
  }

  /** Starts the server, unless something was started meanwhile that it has no room beside. */
  private async start(): Promise<void> {
    const { machine, server } = this.one;
    const { name, stopGraceSeconds } = server.container;
    const { stops, refused } = await this.look();
    const others = listOf(stops.map(({ key }) => key));
    if (refused !== undefined) throw new Failed(refused);
    if (stops.length > 0) throw new Failed(`${others} was started meanwhile.`);
    if (this.options.again) await freshBudget(machine.dockerHost, name);
    await docker(["start", name], machine.dockerHost, ANSWER_SECONDS);
    this.began = true;
    // Another command may have started another server in the same moment.
    const late = await this.look();
    if (late.stops.length > 0) {
      await docker(["stop", name], machine.dockerHost, ANSWER_SECONDS + stopGraceSeconds);
      throw new Failed(`${listOf(late.stops.map(({ key }) => key))} was started meanwhile.`);
    }
    say(`${name} is started.`);
  }

  /** What a person has to know who finds the start undone. */
  private situation(): string {
    const { key } = this.one.server;
    const not = `${key} is not started.`;
    if (this.stopped.length === 0) return `${not} Nothing was stopped.`;
    return `${not} ${this.stoppedText()}`;
  }

  /** Who was stopped, and how each starts again; "" where nobody was. */
  private stoppedText(): string {
    const keys = this.stopped.map(({ key }) => key);
    if (keys.length === 0) return "";
    const again = keys.map((key) => `\`${forStack(`serving start ${key}`, this.options)}\``);
    return `${listOf(keys)} ${keys.length === 1 ? "is" : "are"} stopped: ${listOf(again)} starts ${keys.length === 1 ? "it" : "each"} again.`;
  }

  private async wait(): Promise<Outcome> {
    const { machine, server } = this.one;
    const isOver = () => this.signal.aborted;
    const [waited] = await waitForServer([this.one], START_SECONDS, isOver);
    if (waited === undefined) {
      const goesOn = goesOnText(server.key, this.signal, this.options);
      return this.ended(`${goesOn} ${this.stoppedText()}`.trim());
    }
    const { container } = server;
    if (waited.outcome === "ready" && this.began)
      keepStart(stackFile(this.options), machine.name, { container, seconds: waited.seconds });
    const said = await this.explained(waited);
    const stopped = this.stoppedText();
    return {
      result: { ...this.result(), waited },
      text: [waitedText(waited), ...(stopped === "" ? [] : [stopped]), ...said].join("\n"),
      failed: waited.outcome !== "ready",
    };
  }

  private async explained({ outcome }: WaitedOn): Promise<string[]> {
    if (outcome !== "died") return [];
    const of = { file: stackFile(this.options), machine: this.one.machine.name };
    const diagnoses = await diagnoseMachine(of, this.options);
    return diagnoses.length === 0 ? [] : [doctorText(diagnoses, [])];
  }

  private result() {
    const { machine, server } = this.one;
    return {
      start: { machine: machine.name, container: server.container.name },
      stopped: this.stopped.map(({ container }) => container.name),
    };
  }

  /** Says how it ended; at once where an interrupt ends this process before its outcome is printed. */
  private ended(text: string): Outcome {
    if (this.signal.aborted) say(text);
    return { result: { ...this.result(), waited: null }, text, failed: true };
  }
}
