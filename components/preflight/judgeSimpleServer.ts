import { type PreflightFinding, refused, warned } from "../features/kind";
import type { MachinePlan } from "../plan";
import type { HostSimpleServerPlan } from "../services/simple-server";
import { isPep440, lowestAllowed, whyRefused } from "../supply/releases";
import type { Account, PathFacts, SimpleServerFacts } from "./types";

/** What a build from source says of itself. */
const NO_RELEASE = "0.0.0";

const OTHERS_MAY_SEARCH = 0o001;
const GROUP_MAY_SEARCH = 0o010;
const OWNER_MAY_SEARCH = 0o100;

/**
 * Judges what was read of Ollama. If we change and restart it, a fault is a refusal. If the
 * operator does that by hand, it is a warning, since nothing of ours depends on it. Each says how
 * to fix it.
 */
export function judgeSimpleServer(
  machine: MachinePlan,
  facts: SimpleServerFacts | undefined,
): PreflightFinding[] {
  const { simpleServer: server, elevate } = machine;
  if (facts === undefined || server.mode === "none") return [];
  const { answer } = facts;
  if (server.mode === "integrated") {
    const message =
      "An Ollama answers on the host at port 11434, but `simpleServer.mode` is `integrated`: models pulled into one are missing in the other. Stop the one on the host, or set `mode: host`.";
    return answer.kind === "ollama" ? [warned(message, "simpleServer.mode", "host")] : [];
  }
  const said = elevate === "none" ? warned : refused;
  const faults = [
    elevationFault(facts, elevate),
    installationFault(server, facts),
    directoryFault(server, facts),
    answerFault(server, facts),
  ].flatMap((fault) => (fault === undefined ? [] : said(...fault)));
  if (elevate === "none" && answer.kind !== "ollama" && server.pull && server.models.length > 0) {
    const message = `Ollama does not answer at ${server.baseUrl}, so ${server.models.join(", ")} can't be pulled. Start it, or set \`pull: false\`.`;
    faults.push(refused(message, "simpleServer.pull", false));
  }
  if (answer.kind === "ollama" && answer.version === NO_RELEASE) {
    const message = `Ollama reports version ${NO_RELEASE}, as a build from source does: make sure that it is ${lowestAllowed("ollama")} or later.`;
    faults.push(warned(message));
  }
  if (elevate === "none" && !facts.dropInInPlace) {
    const message = `${server.dropIn.path} differs from the plan. It isn't written for you, since \`elevate\` is \`none\`: run the commands that \`serving plan simple-server\` prints.`;
    faults.push(warned(message));
  }
  return faults;
}

/** A refusal or a warning, as the whole of the simple server is. */
type Fault = Parameters<typeof refused> | undefined;

function elevationFault({ elevation }: SimpleServerFacts, elevate: MachinePlan["elevate"]): Fault {
  if (elevate === "none" || elevation === undefined || elevation.works) return undefined;
  const message = `\`${elevate.join(" ")}\` does not work here (${elevation.reason}). Allow it without a password, or set \`elevate: none\` and run the plan's commands yourself.`;
  return [message, "elevate", "none"];
}

function installationFault(
  { unit, serviceUser }: HostSimpleServerPlan,
  facts: SimpleServerFacts,
): Fault {
  if (facts.unitFound === false) {
    const message = `systemd has no unit ${unit}: is Ollama installed? Install it as https://ollama.com/download says, correct \`simpleServer.unit\`, or set \`mode: none\`.`;
    return [message, "simpleServer.unit"];
  }
  if (facts.account !== undefined) return undefined;
  const message = `There is no user ${serviceUser}: set \`simpleServer.serviceUser\` to the \`User=\` of ${unit}.`;
  return [message, "simpleServer.serviceUser"];
}

/** The directory must be the service user's own, and every parent must let that user through. */
function directoryFault(
  server: HostSimpleServerPlan,
  { account, directory }: SimpleServerFacts,
): Fault {
  if (account === undefined || directory === undefined) return undefined;
  const { modelsDirectory: path, serviceUser: user } = server;
  const last = directory.at(-1);
  const closed = directory.find((each) => each.path !== path && !maySearch(account, each));
  if (closed !== undefined) {
    const message = `${user} can't reach the model directory ${path}: it has no access to ${closed.path}. Fix it with \`sudo chmod o+x ${closed.path}\`, or choose another \`modelsDirectory\`.`;
    return [message, "simpleServer.modelsDirectory"];
  }
  if (last?.problem === "missing")
    return [
      `The model directory ${path} does not exist. Create it with \`sudo install -d -o ${user} -g ${user} -m 0755 ${path}\`.`,
    ];
  // A parent is closed to us, such as the service user's home. Nothing is known then, and it may
  // well be right.
  if (last === undefined || last.problem === "unreadable" || last.uid === account.uid)
    return undefined;
  return [
    `The model directory ${path} belongs to user ${last.uid}, not to ${user}: Ollama could not write there. Fix it with \`sudo chown -R ${user}:${user} ${path}\`.`,
  ];
}

function maySearch(account: Account, at: PathFacts): boolean {
  if (at.problem !== undefined || account.uid === 0) return true;
  const { uid, gid, mode = 0 } = at;
  if (uid === account.uid) return (mode & OWNER_MAY_SEARCH) !== 0;
  if (gid !== undefined && account.gids.includes(gid)) return (mode & GROUP_MAY_SEARCH) !== 0;
  return (mode & OTHERS_MAY_SEARCH) !== 0;
}

function answerFault(server: HostSimpleServerPlan, { answer }: SimpleServerFacts): Fault {
  if (answer.kind === "something else")
    return [
      `Port ${server.port} is in use by something that isn't Ollama. Check with \`ss -lntp 'sport = :${server.port}'\` and \`docker ps\`: an earlier container or the chat UI's integrated image is the usual cause.`,
    ];
  if (answer.kind !== "ollama" || answer.version === NO_RELEASE) return undefined;
  const why = isPep440(answer.version)
    ? whyRefused("ollama", answer.version)
    : `it isn't a release; ${lowestAllowed("ollama")} or newer is needed.`;
  return why === undefined ? undefined : [`Ollama ${answer.version} is running: ${why}`];
}
