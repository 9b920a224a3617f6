import { parseServerArguments, RefusedArguments } from "../arguments";
import { benchServe } from "../benchClient";
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
  const server = await startStandIn(argv, { version, log: console.log });
  console.log(LOG.kvCache(maxModelLen, KV_CONCURRENCY));
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

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof RefusedArguments ? error.message : error);
  process.exit(1);
});
