import { shellWords } from "@local-serving/base/faults/shellWords";
import type { PlannedContainer } from "../../components/planned";

/**
 * The container as a `docker run` to copy into a shell, or as a `docker create` where it starts on
 * request: for reading and trying out, not for operating.
 */
export function dockerRun(container: PlannedContainer): string {
  const { healthcheck } = container;
  const [entrypoint, ...entrypointArguments] = container.entrypoint ?? [];
  const options: string[][] = [
    ["--name", container.name],
    ["--restart", container.restart],
    ...(container.gpus === null ? [] : [["--gpus", container.gpus]]),
    ["--ipc", container.ipc],
    ...(container.shmGiB === undefined ? [] : [["--shm-size", `${container.shmGiB}g`]]),
    ...(container.devices ?? []).map((path) => ["--device", path]),
    ...(container.capabilities ?? []).map((name) => ["--cap-add", name]),
    ["--network", container.network],
    ...container.hosts.map((host) => ["--add-host", host]),
    ...container.ports.map((port) => ["--publish", `${port.ip}:${port.host}:${port.container}`]),
    ...container.mounts.map((mount) => [
      "--mount",
      `type=${mount.type},source=${mount.source},target=${mount.target}${mount.readOnly ? ",readonly" : ""}`,
    ]),
    ...Object.entries(container.env).map(([name, value]) => ["--env", `${name}=${value}`]),
    ...Object.entries(container.labels).map(([name, value]) => ["--label", `${name}=${value}`]),
    ...container.ulimits.map((limit) => ["--ulimit", `${limit.name}=${limit.soft}:${limit.hard}`]),
    ["--stop-timeout", String(container.stopGraceSeconds)],
    ["--health-cmd", shellWords(healthcheck.test.slice(1))],
    ["--health-interval", `${healthcheck.intervalSeconds}s`],
    ["--health-timeout", `${healthcheck.timeoutSeconds}s`],
    ["--health-start-period", `${healthcheck.startPeriodSeconds}s`],
    ["--health-retries", String(healthcheck.retries)],
    ...(entrypoint === undefined ? [] : [["--entrypoint", entrypoint]]),
  ];
  const lines = [
    container.start === "onRequest" ? "docker create" : "docker run --detach",
    ...options.map(shellWords),
    shellWords([container.image]),
    ...commandLines([...entrypointArguments, ...container.command]),
  ];
  // Docker before 25 takes one network at a time.
  const joins = (container.moreNetworks ?? []).map((network) =>
    shellWords([
      "docker",
      "network",
      "connect",
      "--alias",
      container.name,
      network,
      container.name,
    ]),
  );
  return [lines.join(" \\\n  "), ...joins].join("\n");
}

/** One flag with its values on each line, as people write it. */
function commandLines(command: readonly string[]): string[] {
  const lines: string[][] = [];
  for (const word of command) {
    if (word.startsWith("--") || lines.length === 0) lines.push([word]);
    else lines.at(-1)?.push(word);
  }
  return lines.map(shellWords);
}
