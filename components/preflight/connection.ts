import { lastWords } from "@local-serving/base/faults/lastWords";
import { isOverSsh } from "@local-serving/machines/address";
import { filesOf } from "@local-serving/machines/files";
import { type PreflightFinding, refused, warned } from "../features/kind";
import type { MachinePlan } from "../plan";

/** Longer than ssh itself takes to give up. */
const CONNECT_SECONDS = 30;

/**
 * Says why a machine can't be read at all: no connection over ssh, or another home than planned. It
 * is a refusal, unless the machine is merely away.
 */
export async function connectionProblem(
  machine: MachinePlan,
): Promise<PreflightFinding | undefined> {
  if (!isOverSsh(machine)) return undefined;
  const { code, out, err } = await filesOf(machine).ask(
    ["sh", "-c", "cd && pwd -P"],
    CONNECT_SECONDS,
  );
  if (code !== 0) return whyNot(machine, err);
  const [home, planned] = [out.trimEnd(), machine.home];
  if (planned === undefined || planned === home) return undefined;
  const message = `The home directory on ${machine.name} is ${home}, but \`~/\` was planned as ${planned}.`;
  return refused(message, "home", home);
}

/** Says why ssh failed, judging by its output, and what to try. */
export function whyNot(
  { name, dockerHost }: Pick<MachinePlan, "name" | "dockerHost">,
  said: string,
): PreflightFinding {
  const { hostname, port, username } = new URL(dockerHost);
  const host = hostname.replace(/^\[|\]$/g, "");
  const option = port === "" ? "" : `-p ${port} `;
  const login = `ssh ${option}${username === "" ? "" : `${username}@`}${host}`;
  const known = port === "" || port === "22" ? host : `'[${host}]:${port}'`;
  const refuse = (message: string) => refused(message, "dockerHost");
  if (/ENOENT/.test(said))
    return refuse(`There is no \`ssh\` on PATH to reach ${name}: install the OpenSSH client.`);
  if (/HOST IDENTIFICATION HAS CHANGED/.test(said))
    return refuse(
      `The host key of ${name} (${dockerHost}) has changed: the machine was reinstalled, or something else answers at its address. Find out which. If it is the machine, run \`ssh-keygen -R ${known}\`, then \`${login}\`, and compare the key.`,
    );
  if (/Host key verification failed/.test(said))
    return refuse(
      `No host key of ${name} (${dockerHost}) is known here, and none is accepted unchecked. Run \`${login}\` once and compare the key that it shows with \`ssh-keyscan ${option}localhost | ssh-keygen -lf -\` on ${name} itself.`,
    );
  const [denied] = /Permission denied \(.*\)/.exec(said) ?? [];
  if (denied !== undefined)
    return refuse(
      `${name} (${dockerHost}) refuses the login: ${denied}. \`${login}\` must work without a question: \`ssh-copy-id ${option}${username === "" ? "" : `${username}@`}${host}\`, and \`ssh-add\` for a key with a passphrase.`,
    );
  const message = `${name} (${dockerHost}) can't be reached over ssh: ${lastWords(said)}. Try \`${login}\`.`;
  return warned(message, "dockerHost");
}
