import { defined } from "@local-serving/base/faults/defined";
import { parseServerArguments, RefusedArguments } from "../arguments";
import { benchServe } from "../benchClient";
import { OTHER_FAULTS } from "../faults";
import { LOG } from "../log";
import { KV_CONCURRENCY, startStandIn } from "../server";
import { readVersions } from "./versions";

/** `vllm` of the image: `vllm serve MODEL ...`, `vllm bench serve ...` and `vllm --version`. */
async function main(argv: readonly string[]): Promise<void> {
  if (argv[0] === "bench") return benchServe(argv.slice(2));
  const version = readVersions().vllm ?? "unknown";
  if (argv.includes("--version")) {
    console.log(version);
    return;
  }
  console.log(LOG.version(version));
  const { model, maxModelLen, port } = parseServerArguments(argv);
  console.log(LOG.arguments(model, port, maxModelLen));
  const fails = asTold(process.env);
  const server = await startStandIn(argv, { version, log: console.log, ...fails });
  console.log(LOG.kvCache(maxModelLen, fails.kvConcurrency ?? KV_CONCURRENCY));
  console.log(LOG.starting(server.url));
  console.log(LOG.ready);
  // The first process of a container gets no signals unless it asks for them.
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => {
      console.log(LOG.stopping);
      void server.close().then(() => {
        console.log(LOG.stopped);
        process.exit(0);
      });
    });
  }
}

/** As PyTorch says it. */
const OUT_OF_MEMORY =
  "(EngineCore pid=71) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 121.63 GiB of which 512.00 MiB is free.";

/** How an image's server fails, by variables that its program sets. */
function asTold({ STAND_IN_FAULT, STAND_IN_KV, STAND_IN_DIES_AT }: NodeJS.ProcessEnv) {
  const fault = OTHER_FAULTS.find((each) => each === STAND_IN_FAULT);
  const kvConcurrency = STAND_IN_KV === undefined ? undefined : Number(STAND_IN_KV);
  const bytes = Number(STAND_IN_DIES_AT);
  const dies = () => {
    console.error(OUT_OF_MEMORY);
    process.exit(1);
  };
  const diesAt = STAND_IN_DIES_AT === undefined ? undefined : { bytes, dies };
  return defined({ fault, kvConcurrency, diesAt });
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof RefusedArguments ? error.message : error);
  process.exit(1);
});
