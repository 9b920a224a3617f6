import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFailed } from "vitest";
import { parse, stringify } from "yaml";
import type { MachinePlan } from "../../../components/plan/types";
import { BRIDGE, fileOf, planned } from "../../fixtures/services";
import { freePort } from "../../layers/freePort";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { watchEgress } from "../egress";
import { startLitellm } from "../litellm";
import { type Serving, serveUntilReady } from "../process";
import { alreadyThere, title } from "../programs";
import { PROGRAMS } from "../setup";
import { type Engine, installEngine, type RunningEngine, serveEngine } from "./engine";

/** Installing an engine, its first start on a busy machine, and the other programs' starts. */
const START_MS = 2_400_000;

const prometheus = alreadyThere("prometheus", "PROMETHEUS_PROGRAM");
const exporter = alreadyThere("prometheus-node-exporter", "NODE_EXPORTER_PROGRAM");
const missing = "missing" in prometheus ? prometheus : exporter;

interface Panel {
  title: string;
  targets: { expr: string; legendFormat: string }[];
}

interface Answer {
  status: string;
  error?: string;
  data: { result: Found[] };
}

interface Found {
  metric: Record<string, string>;
  value: [number, string];
}

describe.skipIf("missing" in missing)(
  title("monitoring with the real Prometheus, vLLM and LiteLLM", missing),
  () => {
    const folder = temporaryFolder("monitoring-");
    const running: { stop(): unknown }[] = [];
    let engine: Engine;
    let server: RunningEngine;
    let machine: MachinePlan;
    let asked: string;
    let watcher: Serving;

    /** Starts a program of Debian. */
    const started = async (program: typeof prometheus, args: string[], url: string) => {
      if ("missing" in program) throw new Error(program.missing);
      const serving = await serveUntilReady(program.path, args, {
        env: {},
        cwd: folder,
        url,
        seconds: 120,
      });
      running.push(serving);
      return serving;
    };

    beforeAll(async () => {
      const litellm = await PROGRAMS.litellm();
      if ("missing" in litellm) throw new Error(litellm.missing);
      engine = await installEngine("0.30.0");
      server = await serveEngine(engine, { args: ["--served-model-name", "model", "rig/dense"] });
      const [bridgePort, port, memoryPort] = [await freePort(), await freePort(), await freePort()];
      machine = planned(
        { bridge: { ...BRIDGE, port: bridgePort }, instanceA: "none", monitoring: "scrape" },
        { port: server.port, servedModelName: "model" },
      );
      const egress = await watchEgress();
      running.push({ stop: () => egress.close() });
      running.push(await startLitellm(litellm.path, machine, join(folder, "bridge"), egress));
      const memory = `127.0.0.1:${memoryPort}`;
      const onlyMemory = ["--collector.disable-defaults", "--collector.meminfo"];
      await started(
        exporter,
        [...onlyMemory, `--web.listen-address=${memory}`],
        `http://${memory}/metrics`,
      );
      // Prometheus 2.43 or newer takes the file as it is, by `scrape_config_files`.
      const { scrape_configs } = parse(fileOf(machine, "scrape-targets").text);
      const node = { job_name: "machine", static_configs: [{ targets: [memory] }] };
      const config = {
        global: { scrape_interval: "1s" },
        scrape_configs: [...scrape_configs, node],
      };
      const file = join(folder, "prometheus.yml");
      writeFileSync(file, stringify(config));
      asked = `http://127.0.0.1:${port}`;
      const listen = `--web.listen-address=127.0.0.1:${port}`;
      const args = [`--config.file=${file}`, `--storage.tsdb.path=${join(folder, "data")}`, listen];
      watcher = await started(prometheus, args, `${asked}/-/ready`);
    }, START_MS);

    afterAll(async () => {
      for (const each of running.reverse()) await each.stop();
      server?.stop();
      await server?.ended;
      engine?.remove();
    }, 120_000);

    const query = async (expr: string): Promise<Found[]> => {
      const answer = await fetch(`${asked}/api/v1/query?query=${encodeURIComponent(expr)}`);
      // By its own API's documentation.
      const { status, error, data } = (await answer.json()) as Answer;
      if (status !== "success") throw new Error(`${expr}: ${error}`);
      return data.result;
    };

    /** A question through the bridge, with a prompt that the next one repeats. */
    const ask = () =>
      fetch(`http://127.0.0.1:${machine.bridge?.port}/v1/chat/completions`, {
        method: "POST",
        headers: {
          authorization: "Bearer local-serving-placeholder",
          "content-type": "application/json",
        },
        body: JSON.stringify({
          model: "model",
          max_tokens: 20,
          messages: [{ role: "user", content: "word ".repeat(600) }],
        }),
      }).then(({ status }) => status);

    it("each target of the planned file is up", { timeout: 120_000 }, async () => {
      onTestFailed(() => console.log(watcher.log().slice(-2000)));
      await expect
        .poll(
          async () => (await query("up")).map(({ metric, value }) => [metric.job, value[1]]).sort(),
          {
            timeout: 60_000,
          },
        )
        .toEqual([
          ["bridge", "1"],
          ["machine", "1"],
          ["vllm-b", "1"],
        ]);
    });

    it("each panel's queries find figures, with the labels that they are drawn by", {
      timeout: 300_000,
    }, async () => {
      const { panels } = JSON.parse(fileOf(machine, "grafana-dashboard").text) as {
        panels: Panel[];
      };
      // The GPU's figures come from an exporter that needs one.
      const asked = panels.filter(({ title }) => !title.startsWith("GPU "));
      expect([panels.length, asked.length]).toEqual([13, 9]);
      expect(await ask()).toBe(200);
      for (const { title, targets } of asked)
        for (const { expr, legendFormat } of targets) {
          const label = /\{\{(\w+)\}\}/.exec(legendFormat)?.[1];
          await expect
            .poll(
              async () => {
                // A rate needs what changes between two looks.
                await ask();
                const found = await query(expr);
                const isNumber = found.every(({ value }) => Number.isFinite(Number(value[1])));
                const isLabelled =
                  label === undefined || found.every(({ metric }) => (metric[label] ?? "") !== "");
                return [title, found.length > 0, isNumber, isLabelled];
              },
              { timeout: 60_000, interval: 1000 },
            )
            .toEqual([title, true, true, true]);
        }
      const [hits] = await query(
        panels.find((each) => each.title === "Prefix hits")?.targets[0]?.expr ?? "",
      );
      expect(Number(hits?.value[1])).toBeGreaterThan(0.5);
      const [floor] = await query(
        panels.find((each) => each.title.startsWith("MemAvailable"))?.targets[1]?.expr ?? "",
      );
      expect(Number(floor?.value[1])).toBe(2 * 1024 ** 3);
    });
  },
);
