import { listOf } from "@local-serving/base/faults/quoting";
import { leftBeside } from "../../../components/memory/together";
import { sign } from "../../sees/log/sign";
import { hasOnDemand } from "../../sees/onDemand/onDemand";
import { thrashIn, waitingFor } from "../../sees/onDemand/swapFigures";
import { machineEdit, type Picture, seen as sighted } from "../picture";
import { APPLY, type Row, type WeighingRule } from "../rule";

const NO_CHANGE = "No setting to change.";

/** llama-swap's own words where it can't listen; another program's are told otherwise. */
const PORT_TAKEN = sign(
  "bind: address already in use",
  /http server error.{0,40}listen tcp [\d.]+:(\d+): bind: address already in use/,
);

const OTHER_KEY = sign("invalid or missing API key", /unauthorized: invalid or missing API key/);

/** v250 writes `"error":"..."`, later ones `"error":{"message":"..."}`. */
const START_FAILED = sign(
  ["upstream command exited prematurely", "health check timed out after"],
  /(?:unspecific error: )?(upstream command exited prematurely|health check timed out after \w+)/,
);

/** Minutes that requests may wait before it is worth a word. */
const LONG_MINUTES = 10;

/** Subnets to write where the usual one is taken. */
const OTHER_SUBNETS = ["172.31.242.0/28", "10.213.77.0/28"] as const;

/** What is known of a machine that has llama-swap; `undefined` without it. */
function known({ stack, onDemand }: Picture) {
  if (stack === undefined || onDemand === undefined || !hasOnDemand(stack.plan)) return undefined;
  return { machine: stack.plan, ...onDemand };
}

const unitCommand = (word: string, unit: string): string => `systemctl --user ${word} ${unit}`;

export const onDemandRules: readonly (WeighingRule | Row)[] = [
  {
    id: "on-demand-down",
    explain(picture) {
      const { machine, seen, unit } = known(picture) ?? {};
      if (machine === undefined || seen?.problem?.kind !== "silent") return undefined;
      const { unit: name } = machine.onDemand;
      const state = unit === undefined ? "" : `; ${name} is ${unit.active}`;
      return {
        cause:
          "llama-swap doesn't answer: requests start no server, and don't reach those that run.",
        evidence: `${seen.problem.message}${state}`,
        advice: `${NO_CHANGE} \`serving logs on-demand\` says why it ended. systemd starts it again within seconds, unless somebody stopped it.`,
        command: `${unitCommand("start", name)} && serving logs on-demand`,
      };
    },
  },
  {
    id: "on-demand-other-key",
    explain(picture) {
      const { machine, seen } = known(picture) ?? {};
      const hit = sighted(picture, OTHER_KEY);
      const isRefused = seen?.problem?.kind === "key";
      if (hit === undefined && !isRefused) return undefined;
      const variable = machine?.onDemand.keyVariable ?? picture.stack?.plan.onDemand?.keyVariable;
      return {
        cause:
          "llama-swap refuses a key: a client has no key, or another one than llama-swap was started with.",
        evidence: hit?.line ?? seen?.problem?.message ?? "",
        advice: `${NO_CHANGE} Set ${variable ?? "the variable of `onDemand.keyVariable`"} to one value and apply it: the bridge and the chat UI get it, and llama-swap is started again.`,
        command: "serving up && serving verify on-demand",
      };
    },
  },
  {
    id: "on-demand-port-taken",
    explain(picture) {
      const hit = sighted(picture, PORT_TAKEN);
      if (hit === undefined) return undefined;
      const port = Number(hit.groups[0]);
      const declared = picture.stack?.settings.onDemand?.port;
      const cause = `Another program has port ${port}, so llama-swap can't listen and ends.`;
      return {
        cause,
        evidence: hit.line,
        ...(declared === port
          ? { edits: [machineEdit(picture, ["onDemand", "port"], freePort(picture, port))] }
          : {}),
        advice: `Stop the other program (\`ss -lntp 'sport = :${port}'\` shows it), or give llama-swap another port; clients' files follow.`,
        command: APPLY,
      };
    },
  },
  {
    id: "on-demand-network-overlap",
    when: sign(
      "Pool overlaps with other one",
      /Pool overlaps with other one on this address space/,
    ),
    say({ picture }) {
      const declared = picture.stack?.settings.onDemand?.subnet;
      const other = OTHER_SUBNETS.find((each) => each !== declared);
      const cause =
        "Docker can't make a network: its subnet overlaps with that of another network on the machine.";
      return declared === undefined
        ? {
            cause,
            advice:
              "Give it a free private subnet; for models on demand the setting is `onDemand.subnet`.",
            command: "docker network ls -q | xargs docker network inspect | grep Subnet",
          }
        : {
            cause,
            edits: [machineEdit(picture, ["onDemand", "subnet"], other)],
            advice: `See which ones are taken: \`docker network ls -q | xargs docker network inspect | grep Subnet\`, and \`ip route\`.`,
          };
    },
  },
  {
    id: "on-demand-thrash",
    explain(picture) {
      const { machine, seen } = known(picture) ?? {};
      const thrash = thrashIn(seen?.events ?? []);
      if (machine === undefined || thrash === undefined) return undefined;
      const { keys, swaps, minutes } = thrash;
      return {
        cause: `${listOf(keys)} were swapped ${swaps} times in the last hour, which took ${minutes} min of starts. Clients use them in turn, and each start stops the other.`,
        evidence: `swaps.jsonl: ${swaps} starts that stopped another server`,
        advice: `${NO_CHANGE} Use them at different times, or make one smaller${roomText(machine.together, keys)}.`,
        command: "serving plan",
      };
    },
  },
  {
    id: "on-demand-starved",
    explain(picture) {
      const { machine, seen } = known(picture) ?? {};
      if (machine === undefined || seen === undefined) return undefined;
      const long = waitingFor(machine, seen).find(
        ({ since, busy }) =>
          busy.length > 0 && Date.now() - Date.parse(since) > LONG_MINUTES * 60_000,
      );
      if (long === undefined) return undefined;
      return {
        cause: `${long.text}. llama-swap stops only a server without requests, so requests for ${long.key} wait without a limit.`,
        evidence: `${long.requests} requests for ${long.key}, the first of ${long.since}`,
        advice: `${NO_CHANGE} \`serving stop ${long.busy[0]}\` makes room, but cuts off what it answers.`,
        command: "serving status",
      };
    },
  },
  {
    id: "on-demand-failed-start",
    explain(picture) {
      const { seen } = known(picture) ?? {};
      const [key, failed] = [...(seen?.failed ?? [])][0] ?? [];
      const hit = sighted(picture, START_FAILED);
      if (failed !== undefined)
        return {
          cause: `${failed.sentence}. It isn't tried again before ${failed.until}.`,
          evidence: `failed/${key}.json, of ${failed.at}`,
          advice: `${NO_CHANGE} Once you know why, \`serving start ${key} --again\` tries at once.`,
          command: `serving logs ${key}`,
        };
      if (hit === undefined) return undefined;
      const late = hit.line.includes("health check timed out");
      return {
        cause: late
          ? "A requested server was not ready in time, and llama-swap gave up on it."
          : "A requested server ended before it was ready. llama-swap's own error doesn't say why.",
        evidence: hit.line,
        advice: late
          ? "If it is only slow, raise `onDemand.startWithinMinutes`."
          : `${NO_CHANGE} The server's log says why it ended.`,
        command: "serving status && serving doctor",
      };
    },
  },
  {
    id: "on-demand-orphan",
    explain(picture) {
      const { machine, seen } = known(picture) ?? {};
      const [name] = seen?.orphans ?? [];
      if (machine === undefined || name === undefined) return undefined;
      const server = machine.together?.servers.find(({ container }) => container === name);
      const gib = server === undefined ? "its memory is" : `${server.takenGiB.toFixed(1)} GiB are`;
      return {
        cause: `${name} runs, but llama-swap doesn't know it: ${gib} taken that llama-swap believes to be free.`,
        evidence: `llama-swap has ${[...(seen?.states.keys() ?? [])].join(", ") || "nothing"}; Docker runs ${name}`,
        advice: `${NO_CHANGE} The next start stops it, or takes it over if there is room; so does llama-swap's wrapper, which looks every 30 s.`,
        command: server === undefined ? `docker stop ${name}` : `serving stop ${server.key}`,
      };
    },
  },
  {
    id: "on-demand-unit",
    explain(picture) {
      const { machine, unit } = known(picture) ?? {};
      if (machine === undefined || unit === undefined) return undefined;
      const { unit: name } = machine.onDemand;
      if (unit.linger === false)
        return {
          cause:
            "llama-swap's unit won't survive a logout, and doesn't start with the machine: linger is off.",
          evidence: `loginctl: Linger=no; ${name} is ${unit.active}`,
          advice: NO_CHANGE,
          command: "loginctl enable-linger",
        };
      if (unit.enabled === "enabled") return undefined;
      return {
        cause: "llama-swap's unit doesn't start with the machine.",
        evidence: `systemctl --user: ${name} is ${unit.enabled}`,
        advice: NO_CHANGE,
        command: unitCommand("enable --now", name),
      };
    },
  },
];

/** Up to what two servers run together. */
function roomText(
  together: NonNullable<ReturnType<typeof known>>["machine"]["together"],
  keys: readonly string[],
): string {
  const members = together?.servers.filter(({ key }) => keys.includes(key)) ?? [];
  if (together === undefined || members.length < 2) return "";
  const taken = members.reduce((sum, each) => sum + each.takenGiB, 0);
  return `: models fit together up to ${(taken + leftBeside(together, members)).toFixed(1)} GiB`;
}

/** The next port that the plan has nothing on. */
function freePort({ stack, sockets = [] }: Picture, taken: number): number {
  const used = [...(stack?.plan.reach ?? []), ...sockets].map(({ port }) => port);
  let port = taken + 1;
  while (used.includes(port)) port += 1;
  return port;
}
