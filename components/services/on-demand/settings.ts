import type * as z from "zod";
import { optional, strictObject } from "zod";
import {
  count,
  isPlainPath,
  PLAIN_PATH,
  port,
  textMatching,
  usual,
  variableName,
} from "../../planned/fields";

/** Where llama-swap's maker puts its releases. */
const RELEASES = "https://github.com/mostlygeek/llama-swap/releases/download";

/** The first addresses of networks, by how many of their bits are the network's. */
const FIRST = [24, 25, 26, 27, 28].map((bits) => {
  const size = 2 ** (32 - bits);
  const lasts = Array.from({ length: 256 / size }, (_, index) => index * size);
  return `(?:${lasts.join("|")})/${bits}`;
});

/** A private network of 16 to 256 addresses, by its first one. */
const SUBNET = new RegExp(
  String.raw`^(?:10\.B|172\.(?:1[6-9]|2\d|3[01])|192\.168)\.B\.(?:${FIRST.join("|")})$`.replaceAll(
    "B",
    String.raw`(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`,
  ),
);

const program = strictObject({
  version: textMatching(/^v\d+$/, "Expected a release of llama-swap, such as v250").describe(
    "Release of llama-swap. v250 was tried.",
  ),
  sha256: optional(
    textMatching(/^[\da-f]{64}$/, "Expected 64 hexadecimal digits, as `sha256sum` prints them"),
  ).describe(
    "SHA-256 of the release's archive for this machine, or of the program if `from` is a path. A policy refuses a program without it; `serving pin` fills it in.",
  ),
  from: usual(
    RELEASES,
    textMatching(/^(?:\/|https?:\/\/[!-~]+[^/]$)/, {
      error:
        "Expected an absolute path, or an address such as https://example.org/llama-swap without a `/` at its end",
      abort: true,
    }).refine((from) => !from.startsWith("/") || isPlainPath(from), PLAIN_PATH),
  ).describe(
    "Where the program comes from: an address with a folder for each release and its archives in it, or the path of a program on the machine that you built yourself.",
  ),
}).describe("llama-swap, the program that starts and stops servers on request.");

/** Models that are started by requests for them, as in the stack file. */
export const onDemand = strictObject({
  port: usual(8010, port()).describe(
    "TCP port at which llama-swap answers for every server with `start: onRequest`.",
  ),
  program,
  keyVariable: optional(variableName())
    .describe(
      "NAME of the variable of your shell that holds llama-swap's key; its value is passed as a file of mode 0600. Needed if the bridge or the chat UI uses such a server.",
    )
    .meta({ examples: ["LOCAL_SERVING_ON_DEMAND_KEY"] }),
  subnet: usual(
    "172.31.241.0/28",
    textMatching(
      SUBNET,
      "Expected a private network of 16 to 256 addresses by its first one, such as 172.31.241.0/28",
    ),
  ).describe(
    "Docker network between llama-swap and the containers that ask it (bridge, chat UI): llama-swap listens on its first address. If no container asks it, it listens on 127.0.0.1 and there is no such network.",
  ),
  startWithinMinutes: usual(60, count(1, 240)).describe(
    "Longest time in minutes from a request until its server is ready. After that the start counts as failed.",
  ),
  retryAfterMinutes: usual(10, count(1, 1440)).describe(
    "Minutes after a failed start during which the server isn't tried again and no other server is stopped for it.",
  ),
}).describe(
  "Starts servers with `start: onRequest` when their model is asked for, after stopping servers that leave them no room (guide: models on demand). Left out: only `serving start` starts them.",
);

export type OnDemandSettings = z.output<typeof onDemand>;

/** Minutes without a request after which a server is stopped, unless its settings say. */
export const IDLE_MINUTES = 30;
