import { optional, strictObject, z } from "zod";
import { defined } from "../../faults/defined";
import { count, gibibytes, listenAddress, port, usual } from "../planned/fields";
import { imageReference } from "./image";

/** Each digest stands in at least six public repositories (read 2026-11-23). */
const IMAGES = {
  prometheus: "prom/prometheus:v3.14.0@sha256:5ce7540c3c00ef4ab0c9d2c995c6a5b9c421f44b4a115d97a2c7af3b1c21cbb0",
  grafana: "grafana/grafana:13.1.1@sha256:7cb8c64c4d57a57e734073f3cc94620adb24a0acb929bd80ba9f14017e3a975b",
  nodeExporter: "prom/node-exporter:v1.11.1@sha256:e9cff4fc67b1818f8c97adb115b9f12c9a54b533de86765d4a0effc01b357205",
};

const containers = strictObject({
  prometheus: strictObject({
    image: usual(IMAGES.prometheus, imageReference()),
    port: usual(9090, port()).describe("TCP port on the machine; 9090 inside the container."),
    listen: listenAddress().describe("Address that the port is published on. Prometheus asks nobody for a key."),
    retentionDays: usual(30, count(1, 3650)).describe(
      "Days for which figures are kept, in a volume that `down` leaves.",
    ),
  })
    .prefault({})
    .describe("Prometheus, which asks vLLM, the bridge and the machine for their figures."),
  grafana: strictObject({
    image: usual(IMAGES.grafana, imageReference()),
    port: usual(3000, port()).describe("TCP port on the machine; 3000 inside the container."),
    listen: listenAddress().describe(
      "Address that the port is published on. Whoever reaches it may look and can change nothing; nobody logs in.",
    ),
  })
    .prefault({})
    .describe("Grafana with the dashboard of this machine."),
  nodeExporter: strictObject({ image: usual(IMAGES.nodeExporter, imageReference()) })
    .prefault({})
    .describe("What tells Prometheus the machine's memory: the node exporter, on the containers' network only."),
  memoryGiB: optional(gibibytes()).describe(
    "Memory in GiB that the three were measured to take on this machine. Default: 0.8, of which Prometheus alone was measured.",
  ),
});

/** Figures over time, as in the stack file. */
export const monitoring = z
  .union([z.literal("scrape"), z.literal(true), containers])
  .describe(
    "Figures over time. `true`: Prometheus and Grafana in containers, with a dashboard of requests, tokens, KV cache, queue and memory. `scrape`: only a file of scrape targets for a Prometheus of your own.",
  );

/** The containers with their defaults; `undefined` where there are none. */
export const monitoringContainers = (given: z.output<typeof monitoring> | undefined) =>
  given === undefined || given === "scrape" ? undefined : containers.parse(given === true ? {} : given);

/** The images of the containers by their blocks. */
export function monitoringImages(given: z.output<typeof monitoring> | undefined): Record<string, string> {
  const { prometheus, grafana, nodeExporter } = monitoringContainers(given) ?? {};
  const image = { prometheus: prometheus?.image, grafana: grafana?.image, nodeExporter: nodeExporter?.image };
  return defined(image);
}
