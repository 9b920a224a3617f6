import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isRecord, jsonIn, objectOr, objectsIn } from "@local-serving/base/faults/json";
import { afterAll, beforeAll, expect, it } from "vitest";
import { copyTools } from "../../docker/rootfs";
import { onRequest, plannedOnDemand } from "../../fixtures/onDemand";
import { mustRun } from "../../layers/run";
import type { OwnDaemon } from "../docker/ownDaemon";
import { CPU_ENVIRONMENT, CPU_SERVER } from "../vllm/cpuServer";
import { type Engine, installEngine } from "../vllm/engine";
import { OF_THE_SYSTEM, pathsOf } from "../vllm/programImage";
import { describeOnDemand } from "./available";
import { type PlannedRig, startPlannedRig } from "./plannedRig";
import { KEY } from "./rig";

/** An installation of vLLM, and three starts of it on a busy machine. */
const LIMIT_SECONDS = 2400;
const SAMPLE_MS = 200;
const IMAGE = "vllm:test";
const PROMPT = "the river runs past the old stone house";

/** So large that only one of them runs. */
const server = (name: string, port: number) =>
  onRequest(name, port, {
    model: { id: `rig/${name}`, family: "qwen3", thinking: true },
    maxModelLen: 4096,
    kvCacheDtype: CPU_SERVER.kvCacheDtype,
    environment: CPU_ENVIRONMENT,
    extraArgs: ["--enforce-eager"],
    stopGraceSeconds: 30,
    idleMinutes: "never",
  });

const planned = (home: string) =>
  plannedOnDemand(
    { inferenceServers: { a: server("dense", 8002), b: server("other", 8003) } },
    home,
  ).machine;

describeOnDemand("two models of the real vLLM 0.30.0, of which one runs", () => {
  let engine: Engine;
  let rig: PlannedRig;
  let sampler: Sampler;

  beforeAll(async () => {
    engine = await installEngine("0.30.0");
    const environment = dirname(dirname(engine.path));
    rig = await startPlannedRig({
      planned,
      image: (daemon) => vllmImage(daemon, environment),
      volumes: [`${environment}:${environment}:ro`],
      prepare: async (home) => {
        const cache = join(home, ".cache/huggingface");
        mkdirSync(cache, { recursive: true });
        await mustRun("cp", ["--archive", join(engine.home, "hub"), cache]);
        const script = join(__dirname, "otherWeights.py");
        await mustRun(join(environment, "bin/python"), [script, cache, "other"]);
      },
    });
    sampler = sampled(rig);
  }, LIMIT_SECONDS * 1000);
  afterAll(async () => {
    await sampler?.end();
    if (rig !== undefined) console.log(JSON.stringify(rig.events(), null, 1));
    await rig?.close();
    engine?.remove();
  });

  const asked = async (body: object) => {
    const [, text] = await rig.ask(`${rig.machine.onDemand?.url}/v1/completions`, KEY, body);
    return objectOr(jsonIn(text));
  };
  /** What the weights make of a prompt, and by which name it is answered. */
  const answered = async (model: string) => {
    const request = { model, prompt: PROMPT, max_tokens: 8, temperature: 0, prompt_logprobs: 0 };
    const answer = await asked(request);
    const [choice] = objectsIn(answer.choices);
    expect(choice, JSON.stringify(answer)).toBeDefined();
    return {
      model: answer.model,
      text: choice?.text,
      logprobs: objectsIn(choice?.prompt_logprobs).flatMap((token) =>
        Object.values(token)
          .filter(isRecord)
          .map(({ logprob }) => Number(Number(logprob).toFixed(3))),
      ),
    };
  };
  const swaps = () => rig.events().map(({ event, server: key }) => `${event} ${key}`);
  const counted = (event: string) => swaps().filter((each) => each === event).length;

  it("the plan lets one of them run", () => {
    expect(rig.machine.together?.sets).toEqual([["a"], ["b"]]);
  });

  it("each is asked in turn, and the right one answers", {
    timeout: LIMIT_SECONDS * 1000,
  }, async () => {
    const first = await answered("dense");
    const again = await answered("dense");
    const second = await answered("other");
    const third = await answered("dense");
    console.log(JSON.stringify({ first, second, third }));
    expect([first.model, second.model, third.model]).toEqual(["dense", "other", "dense"]);
    expect(first.logprobs.length).toBeGreaterThan(3);
    expect(again).toEqual(first);
    expect(third).toEqual(first);
    expect(second.logprobs).not.toEqual(first.logprobs);
    expect([counted("start a"), counted("start b")]).toEqual([2, 1]);
    expect(swaps().filter((each) => each.startsWith("failed"))).toEqual([]);
  });

  it("a model that nobody serves is refused, and starts nothing", async () => {
    const before = rig.events().length;
    expect(await asked({ model: "third", prompt: "x" })).toHaveProperty("error");
    expect(rig.events().length).toBe(before);
  });

  it("never ran two at once", async () => {
    const all = await sampler.end();
    const names = (key: string) =>
      rig.machine.inferenceServers.find((each) => each.key === key)?.container.name ?? "";
    console.log(`${all.length} samples`);
    expect(all.length).toBeGreaterThan(50);
    expect(all.filter((each) => each.length > 1)).toEqual([]);
    const changes = all.map(([one = ""]) => one).filter((one) => one !== "");
    const order = changes.filter((one, index) => one !== changes[index - 1]);
    expect(order).toEqual([names("a"), names("b"), names("a")]);
  });
});

/** vLLM's environment is mounted: the image has the Python and the libraries behind it. */
async function vllmImage({ docker, folder }: OwnDaemon, environment: string): Promise<string> {
  const [root, list, archive] = ["root", "list", "root.tar"].map((name) => join(folder, name));
  await copyTools(root ?? "", ["bash", "curl", "lscpu"]);
  for (const empty of ["tmp", "root"]) mkdirSync(join(root ?? "", empty));
  const paths = (await pathsOf(environment)).filter((path) => path !== environment);
  const taken = [...paths, ...OF_THE_SYSTEM].filter((path) => !existsSync(join(root ?? "", path)));
  writeFileSync(list ?? "", taken.join("\n"));
  await mustRun("tar", [
    ...["--create", "--file", archive ?? "", "--directory", root ?? "", "."],
    ...["--directory", "/", "--files-from", list ?? ""],
  ]);
  const search = `ENV PATH=${join(environment, "bin")}:/usr/local/bin:/usr/bin:/bin`;
  await docker("import", "--change", search, archive ?? "", IMAGE);
  return IMAGE;
}

interface Sampler {
  /** Names of the containers that ran, each time that Docker was asked. */
  end(): Promise<readonly (readonly string[])[]>;
}

function sampled({ daemon }: PlannedRig): Sampler {
  const all: string[][] = [];
  let over = false;
  const samples = (async () => {
    while (!over) {
      const next = sleep(SAMPLE_MS);
      const names = await daemon.docker("ps", "--format", "{{.Names}}");
      all.push(names.split("\n").filter(Boolean));
      await next;
    }
  })();
  return {
    end: async () => {
      over = true;
      await samples;
      return all;
    },
  };
}
