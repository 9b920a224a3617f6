import type { HostFacts } from "../../sees/computer/facts";

/** Says that a command's server seems to run already, which is to be mended before `up`. */
export function runningAlready(model: string, { servers }: HostFacts): string[] {
  const same = servers.find((server) => server.model === model);
  if (same === undefined) return [];
  const where = same.runsIn === undefined ? "" : ` (${same.runsIn})`;
  return [
    `The vLLM on port ${same.port}${where} serves ${model} already. If that is this command, stop it before \`serving up\`, and write \`instanceA: none\`.`,
  ];
}
