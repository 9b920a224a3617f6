import { join } from "node:path";
import { isRecord, objectOr } from "@local-serving/base/faults/json";
import { docker, dockerJson } from "@local-serving/machines/docker/docker";
import type { Files } from "@local-serving/machines/files";
import { scriptText } from "@local-serving/machines/shell";
import type { Subnet } from "@local-serving/machines/subnet";
import type { MachinePlan } from "../plan";
import type { OnDemandFacts } from "./types";

const SCRIPT = scriptText(join(__dirname, "readOnDemand.sh"));

/** Reads what llama-swap needs of a machine. Changes nothing. */
export async function readOnDemand(
  { onDemand, dockerHost }: MachinePlan,
  files: Files,
): Promise<OnDemandFacts | undefined> {
  if (onDemand === undefined) return undefined;
  const [{ out }, networks] = await Promise.all([
    files.ask(["sh", "-c", SCRIPT, "on-demand"]),
    onDemand.network === undefined ? [] : networksOf(dockerHost),
  ]);
  return { ...factsIn(out), networks };
}

/** What the script says. */
export function factsIn(said: string): Omit<OnDemandFacts, "networks"> {
  const lines = said.split("\n").map((line) => line.split(" "));
  const valuesOf = (word: string) =>
    lines.flatMap(([first, ...rest]) => (first === word ? [rest.join(" ")] : []));
  const [user = ""] = valuesOf("user");
  const [python = ""] = valuesOf("python");
  const [noManager] = valuesOf("manager");
  const routes = lines.flatMap(([word, name = "", destination = "", mask = ""]) =>
    word === "route" ? [{ name, subnet: routeOf(destination, mask) }] : [],
  );
  return {
    user,
    python,
    lacks: valuesOf("lacks"),
    ...(noManager === undefined ? {} : { noManager }),
    lingers: lines.some(([word]) => word === "lingers"),
    // The default route reaches everything, and says nothing.
    routes: routes.filter(({ subnet }) => subnet.prefix > 0),
  };
}

function routeOf(destination: string, mask: string): Subnet {
  const number = (hex: string) => {
    const bytes = (hex.match(/../g) ?? []).reverse().map((byte) => Number.parseInt(byte, 16));
    return bytes.reduce((sum, byte) => sum * 256 + byte, 0);
  };
  const prefix = number(mask).toString(2).replace(/0/g, "").length;
  return { first: number(destination), prefix };
}

/** Docker's networks with their ranges; none where Docker doesn't answer, which others say. */
async function networksOf(dockerHost: string): Promise<OnDemandFacts["networks"]> {
  const ids = await docker(["network", "ls", "--quiet"], dockerHost).catch(() => "");
  const all = ids.split("\n").filter(Boolean);
  if (all.length === 0) return [];
  const read = await dockerJson(["network", "inspect", ...all], dockerHost).catch(() => []);
  return (Array.isArray(read) ? read : []).filter(isRecord).map(({ Id, Name, IPAM }) => {
    const { Config } = objectOr(IPAM);
    const subnets = (Array.isArray(Config) ? Config : []).flatMap((each) => {
      const { Subnet } = objectOr(each);
      return typeof Subnet === "string" ? [Subnet] : [];
    });
    return { id: String(Id), name: String(Name), subnets };
  });
}
