import { RefusedArguments } from "../arguments";
import { startStandIn } from "../server";
import { readVersions } from "./versions";

/** `vllm` of the image: `vllm serve MODEL ...` and `vllm --version`. */
async function main(argv: readonly string[]): Promise<void> {
  const version = readVersions().vllm ?? "unknown";
  if (argv.includes("--version")) {
    console.log(version);
    return;
  }
  console.log(`INFO [api_server.py] vLLM API server version ${version}`);
  console.log(`INFO [api_server.py] args: ${JSON.stringify(argv)}`);
  const server = await startStandIn(argv, { version });
  console.log(`INFO [launcher.py] Starting vLLM server on ${server.url}`);
  console.log("INFO:     Application startup complete.");
  // The first process of a container gets no signals unless it asks for them.
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => void server.close().then(() => process.exit(0)));
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof RefusedArguments ? error.message : error);
  process.exit(1);
});
