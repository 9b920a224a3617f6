import { describe, expect, it } from "vitest";
import { httpServer } from "../../layers/httpServer";
import { planned, resultOf, run } from "./environment";

interface Answers {
  targets?: readonly Record<string, unknown>[];
  title?: string;
}

const target = (job: string, health = "up", lastError = "") => ({ labels: { job }, health, lastError });

/** What both probes say of a Prometheus and a Grafana that answer so. */
async function said({ targets = [target("vllm-b"), target("machine")], title = "local-serving: dgx" }: Answers) {
  const prometheus = await httpServer((request, response) => {
    const isAsked = request.url === "/api/v1/targets?state=active";
    response.writeHead(isAsked ? 200 : 404);
    response.end(JSON.stringify({ status: "success", data: { activeTargets: targets } }));
  });
  const grafana = await httpServer((request, response) => {
    response.writeHead(request.url === "/api/dashboards/home" ? 200 : 404);
    response.end(JSON.stringify({ dashboard: { title } }));
  });
  const monitoring = { prometheus: { port: prometheus.port }, grafana: { port: grafana.port } };
  const results = await run(planned(1, {}, { monitoring }), { only: ["figures", "dashboard"] });
  return ["figures", "dashboard"].map((name) => {
    const { status, detail } = resultOf(results, name);
    return [status, detail];
  });
}

describe("monitoring", () => {
  it("passes where all give figures and the dashboard is there", async () => {
    expect(await said({})).toEqual([
      ["pass", "vllm-b, machine"],
      ["pass", "local-serving: dgx"],
    ]);
  });

  it("names who gives none, and why", async () => {
    const refused = target("vllm-b", "down", "connection refused");
    const [figures] = await said({ targets: [refused, target("bridge", "unknown"), target("machine")] });
    expect(figures).toEqual(["fail", "vllm-b is down (connection refused); bridge is unknown"]);
    expect((await said({ targets: [] }))[0]).toEqual(["fail", "it asks nobody"]);
  });

  it("finds another first page", async () => {
    expect((await said({ title: "Home" }))[1]).toEqual(["fail", "its first page is Home"]);
    expect((await said({ title: "" }))[1]).toEqual(["fail", "its first page is nothing"]);
  });

  it("has nothing to ask without Prometheus", async () => {
    const results = await run(planned(1, {}, { monitoring: "scrape" }), { only: ["figures"] });
    expect(resultOf(results, "figures")).toMatchObject({ status: "skip", detail: "the plan has no Prometheus" });
  });
});
