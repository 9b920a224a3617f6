import { Help } from "commander";
import { type JsonSchema, jsonSchemaOf } from "../schema/jsonSchema";
import { PROVIDER_TYPES, type ProviderType, providerSchema, providersProfileSchema } from "./schema";

/** Which keys a template shows for a type, beyond those of every provider. */
const KEYS_OF_TYPE: Readonly<Record<ProviderType, readonly string[]>> = {
  cli: ["command", "model", "conformance_command"],
  custom: ["command"],
  "openai-compatible": [
    ...["base_url", "api_key_env", "model", "max_tokens", "temperature", "disable_thinking"],
    ...["price_usd_per_mtok_input", "price_usd_per_mtok_output"],
  ],
  ollama: ["model", "host"],
};

/** A healthcheck that suits each type; the schema's own example is for a server behind HTTP. */
const HEALTHCHECKS: Readonly<Record<ProviderType, string>> = {
  cli: "codex --version",
  custom: "ssh gpubox true",
  "openai-compatible": "curl -sf --oauth2-bearer $LOCAL_KEY http://127.0.0.1:8001/v1/models",
  ollama: "curl -sf http://localhost:11434/api/version",
};

const KEYS_OF_ALL = ["timeout_sec", "healthcheck", "version"];

/** Width to which the comments of the template are wrapped. */
const COMMENT_WIDTH = 98;

/** A commented profile that passes its own check: one working provider, and an example of each type in comments. */
export function providersTemplate(): string {
  const root = jsonSchemaOf(providersProfileSchema);
  const provider = jsonSchemaOf(providerSchema);
  const pairings = root.properties?.defaults?.properties ?? {};
  return [
    ...comment(
      "Providers profile of the harness. Its reader isn't a TOML parser: it reads line by line and keeps everything " +
        "behind `=`. So put no comment behind a value or header, indent nothing, use double quotes and no backslash " +
        "in them, and keep every value on one line. `serving config check providers FILE` finds what it would misread.",
    ),
    "",
    ...comment(root.properties?.copyright?.properties?.company?.description),
    "[copyright]",
    'company = ""',
    "",
    "[defaults]",
    ...comment(pairings.peer_for?.description),
    'peer_for.codex = "local"',
    ...comment(pairings.fallback_chain?.description),
    'fallback_chain.codex = ["local"]',
    "",
    "# A model of this machine, asked by a command.",
    "[providers.local]",
    'type = "ollama"',
    'command = "ollama run {model} < {review_request} 2>/dev/null"',
    'model = "qwen3"',
    `host = ${toml(provider.properties?.host?.default)}`,
    `timeout_sec = ${toml(provider.properties?.timeout_sec?.default)}`,
    'healthcheck = "ollama list"',
    "",
    "# Below, every type with its keys. To use one, give it a name and remove the leading `# `.",
    ...PROVIDER_TYPES.flatMap((type) => ["", ...example(type, provider)]),
    "",
  ].join("\n");
}

function example(type: ProviderType, provider: JsonSchema): string[] {
  const keys = [...KEYS_OF_TYPE[type], ...KEYS_OF_ALL];
  return [
    `# [providers.my-${type}]`,
    `# type = "${type}"`,
    ...keys.flatMap((key) => {
      const schema = provider.properties?.[key];
      const value = key === "healthcheck" ? HEALTHCHECKS[type] : (schema?.examples?.[0] ?? schema?.default);
      return [...comment(schema?.description, "#   "), `# ${key} = ${toml(value)}`];
    }),
  ];
}

/** Text, numbers and flags are written in TOML as in JSON. */
const toml = (value: unknown): string => JSON.stringify(value);

function comment(text = "", lead = "# "): string[] {
  const wrapped = new Help().boxWrap(text, COMMENT_WIDTH - lead.length);
  return wrapped.split("\n").map((line) => `${lead}${line}`);
}
