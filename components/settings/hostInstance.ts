import { optional, strictObject, z } from "zod";
import { count, listenAddress, port, servedName, usual, utilization } from "../planned/fields";

/** Instance A: a server on the host that is not ours. It is data for the memory ledger and the policies, nothing else. */
export const hostInstance = strictObject({
  port: usual(8000, port()).describe("TCP port that instance A listens on."),
  listen: listenAddress("0.0.0.0").describe(
    "Address that instance A listens on (its `--host`; vLLM's default is every address). On 127.0.0.1 no container can reach it.",
  ),
  servedModelName: optional(servedName()).describe(
    "Name that instance A serves its model by. Needed only if a client, the bridge or the chat UI uses it.",
  ),
  readyWithinMinutes: usual(30, count(1, 240)).describe(
    "Minutes that instance A may take to come up after a boot: loading (4 to 7 were seen) and, the first time, compiling (10 to 15). Until then our servers leave its share free; after that they start if their own share fits.",
  ),
  gpuMemoryUtilization: utilization().describe(
    "Share of the machine's TOTAL memory that instance A was started with (its `--gpu-memory-utilization`). Declared, never set: only the operator can lower it, on instance A itself.",
  ),
  maxModelLen: optional(count()).describe("Context window of instance A in tokens (its `--max-model-len`)."),
  model: optional(z.string()).describe("What instance A serves, for people who read the plan."),
  weightsGB: z.number().positive().optional().describe("Size of instance A's weights in GB (10^9 bytes)."),
}).describe(
  "Instance A, the server on the host that must never be disturbed. Write `none` when there is no such server: leaving it out is refused, since it decides what memory is left.",
);
