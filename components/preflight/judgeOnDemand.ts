import { overlap, subnetOf } from "@local-serving/machines/subnet";
import { type PreflightFinding, refused, warned } from "../features/kind";
import type { MachinePlan } from "../plan";
import { takenPort } from "./takenPort";
import type { MachineFacts, OnDemandFacts } from "./types";

type OnDemandPlan = NonNullable<MachinePlan["onDemand"]>;

/** The oldest Python 3 that the wrapper was written for. */
const OLDEST_PYTHON = 8;

/** What a machine needs each of these programs for. */
const NEEDED: Readonly<Record<string, string>> = {
  docker: "start and stop containers: install Docker's command line (`docker-ce-cli`)",
  curl: "download llama-swap and check whether it answers: `sudo apt install curl`",
  tar: "unpack llama-swap: `sudo apt install tar`",
  flock: "install llama-swap only once at a time: `sudo apt install util-linux`",
  systemctl: "run llama-swap: without systemd, delete `onDemand` and use `serving start NAME`",
  loginctl: "keep llama-swap's unit after logout: install systemd's `loginctl`",
};

/** Judges whether llama-swap can be brought to a machine, run there and asked. */
export function judgeOnDemand(machine: MachinePlan, facts: MachineFacts): PreflightFinding[] {
  const { onDemand } = machine;
  if (onDemand === undefined || facts.onDemand === undefined) return [];
  return [
    ...programFindings(facts),
    ...neededFindings(facts.onDemand),
    ...systemdFindings(facts.onDemand),
    ...portFindings(onDemand, facts),
    ...subnetFindings(onDemand, facts.onDemand),
  ];
}

/** A program that can't come is no reason to stop anything first. */
const programFindings = ({ needs }: MachineFacts): PreflightFinding[] =>
  needs?.program?.problem === undefined ? [] : [refused(needs.program.problem, "onDemand.program")];

function neededFindings({ python, lacks }: OnDemandFacts): PreflightFinding[] {
  const [, minor = 0] = python.split(".").map(Number);
  const needed = `Python 3.${OLDEST_PYTHON} or later, with which it starts and stops containers`;
  return [
    ...(python === ""
      ? [refused(`llama-swap needs ${needed}: install \`python3\` on this machine.`)]
      : minor < OLDEST_PYTHON
        ? [refused(`python3 on this machine is ${python}, but llama-swap needs ${needed}.`)]
        : []),
    ...lacks.map((program) =>
      refused(`There is no \`${program}\` on this machine to ${NEEDED[program] ?? "run it"}.`),
    ),
  ];
}

function systemdFindings({ user, noManager, lingers, lacks }: OnDemandFacts): PreflightFinding[] {
  if (lacks.includes("systemctl")) return [];
  // Linger starts the manager, and `up` switches it on.
  if (noManager !== undefined && lingers)
    return [
      refused(
        `systemd's user manager of ${user} doesn't answer (${noManager}), and llama-swap runs as one of its units: check \`systemctl status user@$(id -u)\`.`,
      ),
    ];
  if (noManager !== undefined)
    return [
      refused(
        `systemd runs no user manager for ${user} (${noManager}), and llama-swap runs as one of its units. \`sudo loginctl enable-linger ${user}\` starts one now and at each boot.`,
      ),
    ];
  return lingers
    ? []
    : [
        warned(
          `Units of ${user} end at logout (linger is off): \`up\` switches it on (\`loginctl enable-linger\`), so that llama-swap keeps running and starts at boot.`,
        ),
      ];
}

/** Whoever has the port and isn't the llama-swap that the plan has. */
function portFindings(
  { port, program }: OnDemandPlan,
  { listeners }: MachineFacts,
): PreflightFinding[] {
  const others = listeners.filter(
    (each) => each.port === port && !each.argv?.includes(program.path),
  );
  if (others.length === 0) return [];
  return [takenPort("llama-swap", port, "onDemand.port", "onDemand.port")];
}

function subnetFindings(
  { network }: OnDemandPlan,
  { networks, routes }: OnDemandFacts,
): PreflightFinding[] {
  const own = network && subnetOf(network.subnet);
  if (network === undefined || own === undefined) return [];
  const inTheWay = (subnets: readonly string[]) =>
    subnets.find((each) => {
      const subnet = subnetOf(each);
      return subnet !== undefined && overlap(subnet, own);
    });
  // Docker calls a network's interface by its id.
  const bridges = new Set(networks.map(({ id }) => `br-${id.slice(0, 12)}`));
  const said = [
    ...networks
      .filter(({ name }) => name !== network.name)
      .flatMap(({ name, subnets }) => {
        const subnet = inTheWay(subnets);
        return subnet === undefined ? [] : [`the Docker network ${name} (${subnet})`];
      }),
    ...routes
      .filter(
        ({ name, subnet }) => !bridges.has(name) && name !== "docker0" && overlap(subnet, own),
      )
      .map(({ name }) => `a route of this machine (\`ip route show dev ${name}\`)`),
  ];
  return [...new Set(said)].map((what) =>
    refused(
      `The subnet ${network.subnet} between llama-swap and the containers that ask it overlaps ${what}: write another private one as \`onDemand.subnet\`, such as 10.213.7.0/28.`,
      "onDemand.subnet",
    ),
  );
}
