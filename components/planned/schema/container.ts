import * as z from "zod";
import { port } from "../fields";

const text = () => z.string();
const texts = () => z.array(z.string());

const publishedPort = z.object({
  ip: text().describe("Address of the machine on which it listens."),
  host: port().describe("Port of the machine."),
  container: port().describe("Port inside the container."),
});

const mount = z.object({
  type: z.enum(["bind", "volume"]),
  source: text().describe("Path on the machine, or a volume's name."),
  target: text().describe("Path inside the container."),
  readOnly: z.boolean(),
});

const healthcheck = z.object({
  test: texts().describe("The check as Docker takes it: `CMD` and its words."),
  intervalSeconds: z.number(),
  timeoutSeconds: z.number(),
  startPeriodSeconds: z.number().describe("How long failed checks don't count."),
  retries: z.int(),
});

const gate = z
  .object({
    starts: texts().describe("The program that starts once there is room, without its arguments."),
  })
  .describe(
    "Present if the container begins with a start gate, which waits for memory. `entrypoint` then holds the gate's script.",
  );

const ulimit = z.object({ name: text(), soft: z.number(), hard: z.number() });

export const containerSchema = z
  .object({
    role: text().describe("`inference-server`, or the name of the service."),
    resource: text().describe(
      "Name of its resource in the stack. It stays when the container's own name changes.",
    ),
    name: text(),
    image: text(),
    command: texts().describe("Arguments; empty if the image's own are kept."),
    entrypoint: texts()
      .nullable()
      .describe("Replaces the image's own entrypoint; `null` keeps it."),
    gate: gate.exactOptional(),
    env: z.record(text(), text()).describe("Environment variables."),
    secretEnv: texts().describe(
      "Names of variables of your shell whose values reach the container as files.",
    ),
    ports: z.array(publishedPort).describe("Published ports."),
    mounts: z.array(mount),
    gpus: z.literal("all").nullable(),
    ipc: z.enum(["host", "private"]),
    shmGiB: z.number().exactOptional().describe("Size of a /dev/shm of its own, in GiB."),
    devices: texts().exactOptional().describe("Device files of the machine."),
    capabilities: texts().exactOptional(),
    network: text().describe(
      "A Docker network, or `host`: the container then uses the machine's own addresses and publishes no port.",
    ),
    moreNetworks: texts()
      .exactOptional()
      .describe("Further Docker networks that it joins; absent if there are none."),
    hosts: texts().describe("Extra host names, `name:address`."),
    start: z
      .literal("onRequest")
      .exactOptional()
      .describe(
        "Present if `up` only creates the container and `serving start` starts it. Absent: it always runs.",
      ),
    restart: z
      .enum(["unless-stopped", "no"])
      .describe("Docker's restart policy; `no` if it starts on request."),
    healthcheck,
    ulimits: z.array(ulimit),
    stopGraceSeconds: z
      .number()
      .describe("How long Docker waits for it to stop before killing it."),
    labels: z.record(text(), text()),
  })
  .meta({
    id: "Container",
    description: "A container with every value explicit; nothing is left to the daemon's defaults.",
  });
