import * as z from "zod";
import { strictObject } from "zod";
import { block, key, matching } from "../schema/key";
import { HOLDS_REQUEST, REQUEST_PLACEHOLDER } from "./placeholders";

/** The provider types that the specification's table names. */
export const PROVIDER_TYPES = ["cli", "custom", "openai-compatible", "ollama"] as const;

/** A TCP port, from 1 to 65535, as a pattern: editors judge by the published one. */
const PORT = "(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])";

/** A host's name or IPv4 address, or an IPv6 address in brackets. */
const HOST = "(?:[^\\s/?#@:[\\]]+|\\[[0-9a-fA-F:.]+\\])";

const HOST_AND_PORT = new RegExp(`^${HOST}:${PORT}$`);

/** A user before an `@` is a fault with a message of its own. */
const PLAIN_URL = new RegExp(`^https?://(?:[^\\s/?#@]*@)?${HOST}(?::${PORT})?(?:/[^\\s?#]*)?$`);

const text = (description: string, example: string, form = z.string()) =>
  key(form.optional(), description, { examples: [example] });
const rate = (description: string, example: number) =>
  key(z.number().min(0).optional(), description, {
    unit: "USD per million tokens",
    examples: [example],
  });

export const providerSchema = strictObject({
  type: key(z.enum(PROVIDER_TYPES), "How the harness talks to the provider.", {
    examples: ["cli"],
  }),
  command: text(
    "Command that runs a review, for cli and custom providers. `{review_request}` becomes the path of the request file and `{model}` the model's name. The harness parses stdout, so the tool's own chatter must go to stderr or /dev/null.",
    "codex exec --color never -s read-only - < {review_request} 2>/dev/null",
  ),
  conformance_command: text(
    "Command that exercises a running application and judges whether it conforms. Declaring it is what makes the provider a conformance evaluator; it must contain `{review_request}`.",
    "app-evaluator --request {review_request}",
    matching(
      HOLDS_REQUEST,
      `A conformance command must contain ${REQUEST_PLACEHOLDER}, else it never learns what to check`,
    ),
  ),
  timeout_sec: key(z.int().min(1).default(300), "Longest time that one invocation may take.", {
    unit: "seconds",
    examples: [600],
  }),
  healthcheck: text(
    "Shell command that exits with 0 when the provider can be reached. Pass a bearer token as `curl --oauth2-bearer $VAR`: the harness keeps backslashes, so an escaped header never arrives whole.",
    "curl -sf --oauth2-bearer $LOCAL_KEY http://127.0.0.1:8001/v1/models",
  ),
  model: text(
    "Name of the model that is sent, or put in the place of `{model}`.",
    "qwen3-coder-next",
  ),
  base_url: text(
    "Base URL of the API of an openai-compatible provider, with the version path: it ends in `/v1`.",
    "http://127.0.0.1:8001/v1",
    z
      .string()
      .regex(PLAIN_URL, {
        error: "Expected an absolute http or https URL, with a valid port and no query",
        abort: true,
      })
      .regex(/(?<!\/v1)\/v1$/, {
        error: "The URL must end in exactly `/v1`, with nothing after it",
      }),
  ),
  api_key_env: text(
    "Name of the environment variable that holds the API key, never the key. Export it where non-interactive shells see it.",
    "LOCAL_KEY",
    matching(
      /^[A-Za-z_][A-Za-z0-9_]*$/,
      "Expected the name of an environment variable, never the key itself",
    ),
  ),
  host: key(
    matching(
      HOST_AND_PORT,
      "Expected `host:port`, the port from 1 to 65535, without scheme or path",
    ).default("localhost:11434"),
    "Address of an ollama provider, as `host:port`.",
  ),
  max_tokens: key(
    z.int().min(1).default(4096),
    "Longest answer. A reasoning model spends part of it on hidden reasoning: leave it room, or set `disable_thinking`.",
    { unit: "tokens", examples: [8192] },
  ),
  temperature: key(z.number().min(0).default(0.1), "Sampling temperature that is sent."),
  disable_thinking: key(
    z.boolean().optional(),
    "Turns hidden reasoning off, by `enable_thinking=false` in the chat template's arguments and by `thinking.type=disabled`; a server that answers 400 to one of them is asked again without it. The harness compares the text exactly: bare `true`, with no quotes and no comment behind it.",
    { examples: [true] },
  ),
  price_usd_per_mtok_input: rate(
    "Price of a million input tokens at the peak rate, without any cache hit. With both prices set the provider is metered: the ledger is debited what was measured, not an estimate.",
    3,
  ),
  price_usd_per_mtok_output: rate(
    "Price of a million output tokens at the peak rate. Counts only beside the input price.",
    15,
  ),
  version: text("Free note that is recorded with the provider's fingerprint.", "codex-cli 0.147"),
}).describe("One reviewer, evaluator or judge.");

export const providersProfileSchema = strictObject({
  providers: z
    .record(z.string(), providerSchema)
    .prefault({})
    .describe("The providers of this machine, each in a table `[providers.<provider>]` of its own.")
    .meta({ placeholder: "provider" }),
  defaults: block("Default pairings. Write them as dotted keys under `[defaults]`.", {
    peer_for: z
      .record(z.string(), key(z.string(), "Name of a declared provider.", { examples: ["local"] }))
      .prefault({})
      .describe(
        'Who reviews whom without `--peer-review`: `peer_for.<subject> = "<provider>"`. Every value must be a declared provider.',
      )
      .meta({ placeholder: "subject" }),
    fallback_chain: z
      .record(
        z.string(),
        key(
          z.array(z.string()),
          "Names of declared providers, in the order in which they are tried.",
          {
            examples: [["local", "ollama"]],
          },
        ),
      )
      .prefault({})
      .describe(
        'Who is tried, in order, when the peer fails its healthcheck, or ran and produced no review: `fallback_chain.<subject> = ["<provider>", ...]`. Never consulted after a verdict.',
      )
      .meta({ placeholder: "subject" }),
  }),
  copyright: block("What is stamped into generated source files.", {
    company: key(
      z.string().default(""),
      "Company name that is stamped into the headers of generated source files. Empty until the setup asks for it.",
      { examples: ["Example Ltd"] },
    ),
  }),
}).describe("The reviewers that are available on the machine, and the default pairings.");

export type Provider = z.output<typeof providerSchema>;
export type ProvidersProfile = z.output<typeof providersProfileSchema>;
