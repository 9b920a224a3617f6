import { connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Failed } from "@local-serving/base/commandLine/exit";
import { start } from "@local-serving/base/commandLine/run";
import { lastWords } from "@local-serving/base/faults/lastWords";
import {
  EVERY_ADDRESS,
  isHere,
  isLoopback,
  isOverSsh,
  type Listening,
  originOf,
} from "@local-serving/machines/address";
import { ANSWER_SECONDS, forwardingTo } from "@local-serving/machines/onMachine";
import type { MachinePlan } from "../../components/plan";
import { connectionProblem } from "../../components/preflight";

/**
 * Ways from here to what listens on a machine, by its port there; a machine that is here needs
 * none.
 */
export interface Tunnel {
  readonly ports: ReadonlyMap<number, number>;
  /** Resolves once its ssh ended, whoever ended it. */
  readonly ended: Promise<unknown>;
  close(): void;
}

type Named = Pick<MachinePlan, "name" | "dockerHost">;

export type OpenTunnel = (
  machine: Named & { readonly reach: readonly Listening[] },
) => Promise<Tunnel>;

const NO_TUNNEL: Tunnel = { ports: new Map(), ended: new Promise(() => {}), close: () => {} };

const LOOK_EVERY_MILLISECONDS = 50;

/**
 * Forwards what the plan publishes, over ssh, so that services on loopback are asked too. It ends
 * when it is closed, and with this process. Throws `Failed` where ssh doesn't get there.
 */
export const tunnelTo: OpenTunnel = async (machine) => {
  if (!isOverSsh(machine)) return NO_TUNNEL;
  const forwards = await Promise.all(
    machine.reach.map(async (each) => ({ ...each, here: await freePort() })),
  );
  const { stderr, ended, stop } = start(forwardingTo(machine, forwards));
  let [said, over] = ["", false];
  stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  void ended.then(() => {
    over = true;
  });
  for (let waited = 0; !over; waited += LOOK_EVERY_MILLISECONDS) {
    const open = await Promise.all(forwards.map(({ here }) => listens(here)));
    if (!open.includes(false))
      return { ports: new Map(forwards.map(({ port, here }) => [port, here])), ended, close: stop };
    if (waited > ANSWER_SECONDS * 1000) stop();
    await sleep(LOOK_EVERY_MILLISECONDS);
  }
  throw new Failed(
    `${machine.name} (${machine.dockerHost}) can't be reached over ssh: ${lastWords(said)}`,
  );
};

/**
 * Opens tunnels for who looks again and again: one stays open for the next look, since a handshake
 * for each is slow, and fills the machine's log. `close` closes all of them.
 */
export function keptTunnels(): { readonly open: OpenTunnel; close(): void } {
  const kept = new Map<string, Promise<Tunnel>>();
  const opened = (machine: Parameters<OpenTunnel>[0]) => {
    const key = JSON.stringify([machine.dockerHost, machine.reach]);
    const before = kept.get(key);
    if (before !== undefined) return before;
    const tunnel = tunnelTo(machine);
    const forget = () => void kept.delete(key);
    kept.set(key, tunnel);
    tunnel.then(({ ended }) => void ended.then(forget), forget);
    return tunnel;
  };
  return {
    open: async (machine) => ({ ...(await opened(machine)), close: () => {} }),
    close: () => {
      for (const tunnel of kept.values()) tunnel.then(({ close }) => close()).catch(() => {});
    },
  };
}

/**
 * Throws `Failed`, with what to do, for a machine that ssh doesn't get to, or whose home is another
 * one.
 */
export async function expectConnection(machine: MachinePlan): Promise<void> {
  const problem = await connectionProblem(machine);
  if (problem !== undefined) throw new Failed(problem.message);
}

/** A port of loopback that nobody listens on. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject).listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() =>
        resolve(typeof address === "object" && address !== null ? address.port : 0),
      );
    });
  });
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.destroy());
    socket.on("error", () => resolve(false)).on("close", () => resolve(true));
  });
}

/** Address of a port of a machine as this program reaches it, or why it can't. */
export function originFromHere(
  machine: Named,
  listening: Listening,
  { ports }: Pick<Tunnel, "ports"> = NO_TUNNEL,
):
  | { readonly url: string; readonly unreachable?: never }
  | { readonly url?: never; readonly unreachable: string } {
  const forwarded = ports.get(listening.port);
  if (forwarded !== undefined) return { url: originOf({ address: "127.0.0.1", port: forwarded }) };
  if (isHere(machine)) return { url: originOf(listening) };
  const { address } = listening;
  if (isLoopback(address)) {
    return {
      unreachable: `it is published on loopback of ${machine.name}: run this command there, or use --base-url through a tunnel`,
    };
  }
  return {
    url: originOf(
      listening,
      address === EVERY_ADDRESS ? new URL(machine.dockerHost).hostname : address,
    ),
  };
}
