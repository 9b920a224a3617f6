import { MIB_PER_GIB } from "@local-serving/base/units/memory";
import type { ContainerArgs } from "@pulumi/docker";
import { HOST_NETWORK, type PlannedContainer } from "../planned";

/** Size and number of a container's log files; without a limit a chatty server fills the disk. */
const LOG_OPTIONS = { "max-size": "50m", "max-file": "5" };

/**
 * The arguments of one container. Everything that the engine would otherwise compute is written
 * out: a value left to the daemon is unknown at preview, and one taken away later would silently
 * stay.
 */
export function containerArgs(container: PlannedContainer) {
  return {
    name: container.name,
    image: container.image,
    // An image's own command and entrypoint are left to it: saying that there is none would replace
    // the container at every update.
    ...(container.command.length > 0 && { command: [...container.command] }),
    ...(container.entrypoint && { entrypoints: [...container.entrypoint] }),
    envs: Object.entries(container.env).map(([name, value]) => `${name}=${value}`),
    ports: [...container.ports]
      .sort((a, b) => a.host - b.host)
      .map((port) => ({
        ip: port.ip,
        internal: port.container,
        external: port.host,
        protocol: "tcp",
      })),
    mounts: container.mounts.map(({ type, source, target, readOnly }) => ({
      type,
      source,
      target,
      readOnly,
    })),
    ...hardware(container),
    ...networks(container),
    hosts: container.hosts.map((entry) => {
      const [host = "", ip = ""] = entry.split(":");
      return { host, ip };
    }),
    restart: container.restart,
    healthcheck: healthcheck(container.healthcheck),
    ulimits: container.ulimits.map(({ name, soft, hard }) => ({ name, soft, hard })),
    labels: Object.entries(container.labels).map(([label, value]) => ({ label, value })),
    logDriver: "json-file",
    logOpts: LOG_OPTIONS,
    destroyGraceSeconds: container.stopGraceSeconds,
    stopTimeout: container.stopGraceSeconds,
    // Without both, a refresh takes a stopped container for one that drifted.
    ...(container.start === "onRequest" ? { start: false, mustRun: false } : { mustRun: true }),
  } satisfies ContainerArgs;
}

/** GPUs, devices and shared memory: what a container gets of the machine itself. */
const hardware = ({ gpus, ipc, shmGiB, devices, capabilities }: PlannedContainer) => ({
  ...(gpus !== null && { gpus }),
  ipcMode: ipc,
  ...(shmGiB !== undefined && { shmSize: shmGiB * MIB_PER_GIB }),
  ...(devices && {
    devices: devices.map((path) => ({
      hostPath: path,
      containerPath: path,
      permissions: "rwm",
    })),
  }),
  ...(capabilities && { capabilities: { adds: [...capabilities] } }),
});

const networks = ({ name, network, moreNetworks = [] }: PlannedContainer) =>
  network === HOST_NETWORK
    ? { networkMode: HOST_NETWORK }
    : {
        networkMode: "bridge",
        networksAdvanced: [network, ...moreNetworks].map((each) => ({
          name: each,
          aliases: [name],
        })),
      };

const healthcheck = (check: PlannedContainer["healthcheck"]) => ({
  tests: [...check.test],
  interval: seconds(check.intervalSeconds),
  timeout: seconds(check.timeoutSeconds),
  startPeriod: seconds(check.startPeriodSeconds),
  retries: check.retries,
});

/**
 * A duration in the form in which Docker's Go code prints it, so that a refresh finds no
 * difference.
 */
function seconds(total: number): string {
  const hours = Math.floor(total / 3600);
  const minutes = Math.floor((total % 3600) / 60);
  const rest = total % 60;
  if (hours > 0) return `${hours}h${minutes}m${rest}s`;
  return minutes > 0 ? `${minutes}m${rest}s` : `${rest}s`;
}
