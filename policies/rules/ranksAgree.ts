import { type Group, groupOf } from "@local-serving/vllm/argv/group";
import type { ServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { TYPE } from "../../components/planned";
import {
  type DeclaredResource,
  displayName,
  launchOf,
  ofType,
  valueInWords,
} from "../lib/container";
import { serversIn } from "../lib/inferenceServer";
import { type Finding, type Rule, violation } from "./rule";

/** One rank of a server: its container, what it starts with, and where it meets the others. */
interface Declared extends Group {
  readonly container: DeclaredResource;
  readonly server: ServerArguments;
}

/** Options that a rank may have for itself; a worker has no API. */
const OWN = ["node-rank", "headless", "host", "port"];

/**
 * vLLM compares few of these arguments: ranks that differ start, and hang in the middle of an
 * answer.
 */
export const ranksAgree: Rule = {
  name: "ranks-agree",
  description:
    "All ranks of a server over several machines are declared once each, have the same image and arguments, and divide the model equally.",
  level: "mandatory",
  judgeStack(resources) {
    const servers = new Map<string, Declared[]>();
    for (const rank of ofType(resources, TYPE.container).flatMap(ranksIn))
      servers.set(rank.meetsAt, [...(servers.get(rank.meetsAt) ?? []), rank]);
    return [...servers.values()].flatMap(judgeServer);
  },
};

function ranksIn(container: DeclaredResource): Declared[] {
  return serversIn(container).flatMap((server) => {
    const rank = groupOf(server);
    return rank === undefined ? [] : { ...rank, container, server };
  });
}

function judgeServer(ranks: readonly Declared[]): Finding[] {
  const [first, ...others] = [...ranks].sort((a, b) => Number(a.index) - Number(b.index));
  if (first === undefined) return [];
  const { container, server, nodes, meetsAt } = first;
  const name = displayName(container);
  const names = ranks.map((each) => displayName(each.container)).join(", ");
  const missing = `${name} is one of ${nodes} ranks, and ${ranks.length} of them are declared. Declare exactly one container for each rank (\`--nnodes\`), or vLLM waits for the missing ones. At ${meetsAt} these meet: ${names}.`;
  const size = (option: string) => Number(server.options.get(option)?.[0] ?? 1);
  const [parts, stages] = [size("tensor-parallel-size"), size("pipeline-parallel-size")];
  const unequal = `${name} divides its model unequally among ${nodes} machines. Make ${parts} x ${stages} parts (\`--tensor-parallel-size\`, \`--pipeline-parallel-size\`) the number of all their GPUs.`;
  return [
    ...(ranks.length === Number(nodes) ? [] : [violation(container, missing)]),
    ...((parts * stages) % Number(nodes) === 0
      ? []
      : [violation(container, unequal, { setting: "tensorParallelSize" })]),
    ...others.flatMap((other, at) => {
      const twin = [first, ...others.slice(0, at)].find(({ index }) => index === other.index);
      return besideHead(other, first, twin).map((message) => violation(other.container, message));
    }),
  ];
}

/** What is wrong with a rank beside the first one, and beside a `twin` of its number. */
function besideHead(other: Declared, first: Declared, twin: Declared | undefined): string[] {
  const [its, name] = [displayName(other.container), displayName(first.container)];
  const [image, expected] = [other, first].map((each) => launchOf(each.container.props).image);
  const different = differences(other.server, first.server).join(", ");
  const doubled = `${its} and ${twin && displayName(twin.container)} are both rank ${other.index} of one server. Number its ranks from 0, each once (\`--node-rank\`): it meets at ${other.meetsAt}.`;
  const images = `${its} and ${name}, ranks of one server, run two images. Give both the same image, by digest: they are ${valueInWords(image)} and ${valueInWords(expected)}.`;
  const unlike = `${its} and ${name} are ranks of one server, and differ. Give both the same ${different}: vLLM would start and hang later.`;
  return [twin && doubled, image !== expected && images, different !== "" && unlike].filter(
    (each) => typeof each === "string",
  );
}

/** Lists the arguments in which two ranks differ, as `--max-model-len (8192, 16384)`. */
function differences(one: ServerArguments, other: ServerArguments): string[] {
  const texts = ({ model, options }: ServerArguments) =>
    new Map([
      ["the model", String(model)],
      ...[...options].map(([name, words]) => [`--${name}`, words.join(" ")] as const),
    ]);
  const [here, there] = [texts(one), texts(other)];
  return [...new Set([...here.keys(), ...there.keys()])]
    .filter((name) => !OWN.includes(name.slice(2)) && here.get(name) !== there.get(name))
    .map((name) => `${name} (${here.get(name) ?? "not given"}, ${there.get(name) ?? "not given"})`);
}
