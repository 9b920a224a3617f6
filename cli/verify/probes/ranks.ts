import { ask, NoAnswer } from "@local-serving/base/http/ask";
import { readEngineLog } from "@local-serving/kv";
import { isPooling } from "../../../components/planned";
import { oneToken } from "../../sees/api";
import { readMetrics } from "../../sees/metrics";
import { fail, pass, passUnless, skip } from "../probe";
import type { RankTarget } from "../ranksTarget";
import type { ProbesOf } from "../target";
import { runningVariables } from "./chatUi";
import { LARGEST_SHORTFALL } from "./kvCache";

/**
 * When vLLM itself begins to say that its processes wait for each other
 * (VLLM_RINGBUFFER_WARNING_INTERVAL, vllm/envs.py).
 */
const STALL_SECONDS = 60;

/**
 * Of 200 on each cable; a link that was set up wrong moved 13 (NVIDIA/dgx-spark-playbooks PR #108).
 */
const LEAST_GBITS = 90;

/** Port of the speed test, on the link, and how long it takes. */
const SPEED_PORT = "18515";
const SPEED_SECONDS = "2";

const link =
  "See the link: its cable, its MTU on both ends, `link.hcas` and `link.gidIndex`; serving doctor reads all logs.";

/**
 * One model on several machines: /health, metrics and a head's own log say nothing of the others.
 */
export const rankProbes: ProbesOf<"ranks"> = [
  {
    name: "ranks-answer",
    about: "the ranks make a token together, however idle they look",
    skip: ({ head: { server } }) =>
      isPooling(server.model.kind) ? "its model makes no tokens" : undefined,
    fix: () => link,
    run: async ({ api, head: { server } }) => {
      const started = performance.now();
      const timeoutSeconds = Math.min(STALL_SECONDS, api.timeoutSeconds);
      try {
        const body = oneToken(server.servedModelName);
        const { status } = await ask(`${api.baseUrl}/v1/completions`, { body, timeoutSeconds });
        const seconds = ((performance.now() - started) / 1000).toFixed(1);
        return status === 200
          ? pass(`one token in ${seconds} s`)
          : fail(`one token was refused with ${status}`);
      } catch (error) {
        if (!(error instanceof NoAnswer) || error.reason !== "timeout") throw error;
        const health = (await api.get("/health").catch(() => undefined))?.status ?? "nothing";
        const running =
          (await readMetrics(api).catch(() => undefined))?.sum("vllm:num_requests_running") ?? "?";
        const meanwhile = `while /health answers ${health} and ${running} requests run`;
        return fail(`stalled: no token in ${timeoutSeconds} s, ${meanwhile}`);
      }
    },
  },
  {
    name: "ranks-alike",
    about: "every rank runs with the image, arguments and environment of the plan",
    fix: () => "`serving up` replaces all ranks.",
    run: async ({ head, workers }) => {
      const ranks = [head, ...workers];
      const faults = ranks.map(async ({ machine, server: { container, rank }, host }) => {
        const mark = (await runningVariables({ host, name: container.name }))?.LOCAL_SERVING_RANKS;
        if (mark === rank?.mark) return [];
        return `${container.name} on ${machine.name} has ${mark === undefined ? "no mark of a plan" : `the mark ${mark}`}, but ${rank?.mark} is planned`;
      });
      const alike = `${ranks.length} ranks have the mark ${head.server.rank?.mark}`;
      return passUnless((await Promise.all(faults)).flat(), alike);
    },
  },
  {
    name: "ranks-kv",
    about: "what each rank has left for its KV cache, against the plan: the least counts for all",
    fix: () =>
      "Something else takes memory on that machine: see its ledger in serving plan, and serving doctor.",
    run: async ({ head, workers }) => {
      const read = [head, ...workers].map(async ({ machine, server: { container }, host }) => {
        const { availableKvGiB: gib } = readEngineLog(
          (await host.memoryLines(container.name)).text,
        );
        const least = machine.kv[container.name]?.room.lowGiB ?? 0;
        return {
          gib,
          least,
          words: `${gib === undefined ? "nothing said" : `${gib} GiB`} on ${machine.name}`,
        };
      });
      const seen = await Promise.all(read);
      const detail = seen.map(({ words }) => words).join(", ");
      if (seen.every(({ gib }) => gib === undefined)) return skip("no log has that line any more");
      const most = Math.max(...seen.map(({ gib = 0 }) => gib));
      const short = seen.filter(
        ({ gib = most, least }) => gib < Math.max(least, most) * (1 - LARGEST_SHORTFALL),
      );
      if (short.length === 0) return pass(detail);
      const planned = seen.map(({ least }) => least).join(" and ");
      return fail(
        `${detail}: ${short.map(({ words }) => words).join(", ")} is too little; ${planned} GiB are planned`,
      );
    },
  },
  {
    name: "link-speed",
    about: `each RDMA device moves ${LEAST_GBITS} Gb/s to the other machine`,
    skip: ({ head }) =>
      head.server.rank?.link.hcas.length === 0
        ? "without `link.hcas`, NCCL uses sockets"
        : undefined,
    fix: () => link,
    run: async ({ head, workers }) => {
      const faults: string[] = [];
      const seen: string[] = [];
      for (const worker of workers) {
        for (const [index, hca] of (head.server.rank?.link.hcas ?? []).entries()) {
          const speed = await gbits(head, worker, index);
          if (typeof speed === "string") return skip(speed);
          const words = `${hca} to ${worker.machine.name}: ${speed} Gb/s`;
          seen.push(words);
          if (speed < LEAST_GBITS) faults.push(`${words}, below ${LEAST_GBITS}`);
        }
      }
      return passUnless(faults, seen.join(", "));
    },
  },
];

/**
 * What one device of a head moves to the same one of a worker, by the tool of their image; why not,
 * where it has none.
 */
async function gbits(
  head: RankTarget,
  worker: RankTarget,
  index: number,
): Promise<number | string> {
  // The other end is to listen first, and not for ever.
  const test = (
    { server: { container, rank } }: RankTarget,
    seconds: number,
    ...options: readonly string[]
  ) => [
    "exec",
    ...options,
    container.name,
    "sh",
    "-c",
    `sleep ${seconds}; exec timeout 15 ib_write_bw "$@"`,
    "sh",
    "--report_gbits",
    "-F",
    "-D",
    SPEED_SECONDS,
    "-p",
    SPEED_PORT,
    "-d",
    rank?.link.hcas[index] ?? "",
    "-x",
    String(rank?.link.gidIndex ?? 0),
  ];
  const hasTool = ["exec", head.server.container.name, "sh", "-c", "command -v ib_write_bw"];
  const tool = await head.host.docker(hasTool).catch(() => "");
  if (tool === "") return "the image has no ib_write_bw (package perftest)";
  await worker.host.docker(test(worker, 0, "--detach"));
  const said = await head.host.docker([...test(head, 1), worker.server.rank?.link.address ?? ""]);
  // #bytes, iterations, peak, average.
  const [, average] = /^\s*\d+\s+\d+\s+[\d.]+\s+([\d.]+)/m.exec(said) ?? [];
  return average === undefined ? "ib_write_bw printed no speed" : Number(average);
}
