import { DEFAULT_HARNESS, PREFIX_FORM } from "@local-serving/harness/harness";
import { HOLDS_REQUEST, REQUEST_PLACEHOLDER } from "@local-serving/harness/providers/placeholders";
import * as z from "zod";
import { optional, strictObject } from "zod";
import {
  count,
  hostPath,
  serverReference,
  shortName,
  textMatching,
  usual,
  variableName,
} from "../planned/fields";
import { ollamaModelName } from "../services/simple-server";

/**
 * Text that the harness's reader of the profile reads as TOML does: one line, with nothing to
 * escape.
 */
export const PLAIN_TEXT = /^[^"\\\p{Cc}]*$/u;

/** A provider of the profile that we make: `local-<key>` of an inference server, or `ollama`. */
const providerName = () => shortName().meta({ examples: ["local-b", "ollama"] });

/**
 * The automation harness that uses our servers as reviewers and judges. Its files are made only
 * when this is given.
 */
export const harness = strictObject({
  home: usual(DEFAULT_HARNESS.home, hostPath()).describe(
    "The harness's per-user folder. `providers.toml` and `session-analytics.json` are written there. While `harness` is set, they replace your own files with these names, including reviewers of other vendors. The originals are kept (`.providers.toml.local-serving/original`) and put back by `down`, or when `harness` is removed.",
  ),
  analyticsHome: optional(hostPath())
    .describe(
      "Folder of `session-analytics.json`, for a harness that keeps it apart. Default: `home`.",
    )
    .meta({ examples: ["~/.hx/analytics"] }),
  prefix: usual(
    DEFAULT_HARNESS.prefix,
    textMatching(PREFIX_FORM, "Expected the start of a variable's name, such as HX_"),
  ).describe("What the harness's environment variables begin with, the underscore included."),
  apiKeyVariable: optional(z.union([z.literal("none"), variableName()]))
    .describe(
      "NAME of the variable with the key that the harness sends to an inference server (`api_key_env`). vLLM ignores the value, but the harness sends no request while the variable is empty: export any text where non-interactive shells see it. `none` sends no key. Default: `prefix` and `LOCAL_KEY`, so `HX_LOCAL_KEY`.",
    )
    .meta({ examples: ["HX_LOCAL_KEY"] }),
  maxTokens: usual(8192, count())
    .describe(
      "Longest answer of an inference server (`max_tokens`). The harness's own default of 4096 is small for a review with many findings. Prompt and answer together must fit `maxModelLen`.",
    )
    .meta({ unit: "tokens" }),
  timeoutSeconds: usual(600, count())
    .describe(
      "Longest time of one review (`timeout_sec`). The harness's own default of 300 is short for a long prompt here: at 853 tokens/s, 48k tokens of prompt alone take a minute. Stay below the review loop's 900, or one review can use up the whole loop.",
    )
    .meta({ unit: "seconds" }),
  disableThinking: usual(true, z.boolean()).describe(
    "Sets `disable_thinking` for models with a thinking mode; otherwise hidden reasoning uses up `maxTokens`. Other models never get the key.",
  ),
  subjects: usual(["claude", "codex", "pi"], z.array(shortName()))
    .describe("Subjects (whose work is reviewed) that get a peer and a fallback chain.")
    .meta({ examples: [["claude", "codex"]] }),
  peerFor: usual(
    {},
    z.record(shortName(), providerName().describe("Provider that reviews this subject.")),
  )
    .describe(
      "`peer_for`: the provider that reviews each subject, if not the first one. Providers are `local-<key>` for each inference server with a chat model, by key, then `ollama` when Ollama on the host has a model.",
    )
    .meta({ placeholder: "subject", examples: [{ codex: "ollama" }] }),
  fallbackChain: z
    .record(
      shortName(),
      z
        .array(providerName())
        .refine(
          (names) => new Set(names).size === names.length,
          "A provider is listed twice; it is tried once",
        )
        .describe("Providers in the order in which they are tried."),
    )
    .default({})
    .describe(
      "`fallback_chain`: further providers for each subject, if not all the others in order.",
    )
    .meta({ placeholder: "subject", examples: [{ codex: ["local-b"] }] }),
  judge: optional(providerName())
    .describe("Provider whose model judges sessions. Default: the first.")
    .meta({ examples: ["local-b"] }),
  ollamaModel: optional(ollamaModelName())
    .describe(
      "Model that Ollama reviews or judges with. Default: the first of `simpleServer.models` that is not the `embeddingModel`.",
    )
    .meta({ examples: ["qwen3:8b"] }),
  embeddingModel: optional(ollamaModelName())
    .describe(
      "Model of Ollama that turns sessions into vectors. Without it the harness embeds nothing, since Ollama has no embedding model of its own. List it in `simpleServer.models` to have it pulled.",
    )
    .meta({ examples: ["nomic-embed-text"] }),
  embeddingServer: optional(serverReference())
    .describe(
      "Inference server that turns sessions into vectors (`model.kind: embedding`) instead of Ollama. The file then says `embedding.backend: openai`, and has its address where Ollama's would be.",
    )
    .meta({ examples: ["search"] }),
  conformanceCommands: z
    .record(
      providerName(),
      textMatching(
        PLAIN_TEXT,
        "Expected one line without double quotes and backslashes: the harness knows no escapes",
      )
        .regex(
          HOLDS_REQUEST,
          `Expected ${REQUEST_PLACEHOLDER} in the command: it is replaced by the path of the request`,
        )
        .describe(`Command with \`${REQUEST_PLACEHOLDER}\` in it.`)
        .meta({ examples: ["app-evaluator --request {review_request} 2>/dev/null"] }),
    )
    .default({})
    .describe(
      "`conformance_command` of a provider, which makes it an evaluator for `verification.conformance`. A model alone can't try a running app, so name an agent of yours that can, such as a coding client's launcher. It gets the request's path in place of `{review_request}` and prints its verdict on stdout.",
    )
    .meta({ placeholder: "provider" }),
  company: usual(
    "",
    textMatching(PLAIN_TEXT, "Expected text without double quotes, backslashes and line breaks"),
  ).describe("Company name that the harness stamps into generated sources (`[copyright]`)."),
}).describe(
  "The automation harness's providers profile and session-analytics file, made from what runs here. They are written only when this block is there; `{}` takes every default.",
);

export type HarnessSettings = z.output<typeof harness>;
