import { withServer } from "../../components/planned";
import { hostOf } from "../sees/host";
import type { OnMachine } from "../stack/onMachines";
import type { ProbeResult } from "../verify/probe";
import { verifyProgress } from "../verify/report";
import { verify } from "../verify/run/runner";

/**
 * Asks a server that is ready as its clients will, with the probes of `verify`: one call of a tool
 * and one long prompt. The first of each compiles kernels and its grammar, which then no client
 * waits for.
 */
export async function warm(
  { machine, server }: OnMachine,
  machines: readonly OnMachine["machine"][],
  timeoutSeconds: number,
): Promise<ProbeResult[]> {
  const alone = withServer(machine, server);
  const progress = verifyProgress(process.stderr);
  const ask = async (...only: string[]) => [
    ...(await verify(alone, { only, timeoutSeconds, host: hostOf, machines, progress })).probes,
  ];
  const asked = await ask("chat-tools", "long-prompt");
  // A window that is too short for the long one takes a shorter one.
  const short = asked.find(({ name, status }) => name === "long-prompt" && status === "skip");
  return short === undefined
    ? asked
    : [...asked.filter((each) => each !== short), ...(await ask("needle"))];
}
