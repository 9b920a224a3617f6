import { basename, delimiter, dirname } from "node:path";
import { headed } from "@local-serving/base/commandLine/layout";
import { programOnPath } from "@local-serving/base/commandLine/run";
import { shellWord } from "@local-serving/base/faults/shellWords";
import { isOverSsh } from "@local-serving/machines/address";
import { CLIENTS } from "../../components/clients";
import type { MachinePlan } from "../../components/plan";
import { serviceNamed } from "../../components/services";

/** How what runs is used: what to type, and where it answers. */
export function useText(machines: readonly MachinePlan[], env = process.env): string {
  const lines = machines.flatMap((machine) => [
    ...launcherLines(machine, env),
    ...addressLines(machine),
  ]);
  return headed(
    "Use it:",
    lines.map(({ machine, line }) => (machines.length > 1 ? `${machine}: ${line}` : line)),
  );
}

interface Line {
  readonly machine: string;
  readonly line: string;
}

type Clients = MachinePlan["clients"];

/** The launchers as they are typed here, and what each lacks. */
function launcherLines(machine: MachinePlan, { PATH = "" }: NodeJS.ProcessEnv): Line[] {
  const { name, clients } = machine;
  if (clients.length === 0) return [];
  const isElsewhere = (client: Clients[number]) =>
    isOverSsh(machine) && client.files.every(({ here }) => here === undefined);
  const isTyped = ({ command }: Clients[number]) =>
    PATH.split(delimiter).includes(dirname(command));
  const typed = (client: Clients[number]) =>
    isElsewhere(client)
      ? `${basename(client.command)} (on ${name})`
      : isTyped(client)
        ? basename(client.command)
        : shellWord(client.command);
  const lacking = clients.flatMap((client) => {
    const program = programOf(client);
    return isElsewhere(client) || program === undefined || has(PATH, program.name)
      ? []
      : [{ client, program }];
  });
  const ready = clients.filter((client) => !lacking.some((each) => each.client === client));
  return [
    ...(ready.length === 0 ? [] : [ready.map(typed).join(", ")]),
    ...lacking.map(
      ({ client, program }) =>
        `${typed(client)}, once ${program.name} is there: npm install --global ${program.npm}`,
    ),
  ].map((line) => ({ machine: name, line }));
}

const has = (path: string, program: string): boolean =>
  programOnPath([program], path) !== undefined;

const programOf = ({ client }: Clients[number]) => {
  const kind = CLIENTS.find(({ name }) => name === client);
  return kind !== undefined && "program" in kind ? kind.program : undefined;
};

/** Where services and servers answer. */
function addressLines(machine: MachinePlan): Line[] {
  const { name, endpoints, inferenceServers } = machine;
  return endpoints.flatMap(({ key, url }): Line[] => {
    const server = inferenceServers.find((each) => each.key === key);
    const title = serviceNamed(key)?.title;
    if (server !== undefined)
      return [{ machine: name, line: `${key} ${url}, model ${server.servedModelName}` }];
    return title === undefined ? [] : [{ machine: name, line: `${title} ${url}` }];
  });
}
