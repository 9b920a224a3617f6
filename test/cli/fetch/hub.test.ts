import { cacheHere } from "@local-serving/machines/hubCache";
import { afterEach, expect, it, vi } from "vitest";
import { readHubModel } from "../../../components/preflight/fetch/hubModel";
import { httpServer } from "../../layers/httpServer";
import { CAME, GOOD, HUB_CASES, hubOf, ourReading, wholeOf } from "./hubCases";
import { MODEL, StandInHub } from "./standInHub";

afterEach(() => {
  vi.unstubAllEnvs();
});

it.each(HUB_CASES)("our reader, $name", async (given) => {
  const { hub, url, close } = await hubOf(given, 1000);
  vi.stubEnv("HF_ENDPOINT", `${url}/`);
  try {
    const said = await ourReading(given);
    expect(said).toEqual(given.ours === CAME ? wholeOf(hub) : expect.stringContaining(given.ours));
    expect([[...hub.tokens], [...hub.strayTokens]]).toEqual([given.token ? [given.token] : [], []]);
  } finally {
    await close();
  }
});

it("asks no address that isn't one, and follows no endless way", async () => {
  const plain = { name: "", ours: "", theirs: "" };
  vi.stubEnv("HF_ENDPOINT", "huggingface.co");
  expect(await ourReading(plain)).toContain("HF_ENDPOINT is huggingface.co, which isn't a URL.");
  const { url } = await httpServer((request, response) =>
    response.writeHead(302, { location: `${request.url}/` }).end(),
  );
  vi.stubEnv("HF_ENDPOINT", url);
  expect(await ourReading(plain)).toContain("it redirects more than 5 times.");
  const { url: away } = await httpServer((_, response) =>
    response.writeHead(302, { location: "ftp://elsewhere/file" }).end(),
  );
  vi.stubEnv("HF_ENDPOINT", away);
  expect(await ourReading(plain)).toContain(
    "it redirects to ftp://elsewhere, which is not followed.",
  );
});

it("says what to do where only a proxy gets to the hub", async () => {
  vi.stubEnv("HF_ENDPOINT", "http://127.0.0.1:9");
  const failure = () =>
    readHubModel(MODEL, { cache: cacheHere("/nonexistent") }).catch(
      ({ message }: Error) => message,
    );
  vi.stubEnv("https_proxy", "");
  vi.stubEnv("HTTPS_PROXY", "");
  expect(await failure()).toBe(
    "The model org/model could not be fetched: the hub can't be reached. Check the network (HF_ENDPOINT), then run the same command again.",
  );
  vi.stubEnv("HTTPS_PROXY", "http://proxy:3128");
  expect(await failure()).toMatch(
    /Check the network \(HF_ENDPOINT\), .* HTTPS_PROXY is not used here: first download the model into the machine's cache \(`hf download org\/model`\), where it is read without the hub\.$/,
  );
});

/** What is read of a model with these files beside its config. */
async function read(files: Readonly<Record<string, string>>) {
  const config = JSON.stringify({ architectures: ["LlamaForCausalLM"], model_type: "llama" });
  const hub = new StandInHub(1000, { "config.json": config, ...files });
  const { url } = await httpServer((request, response) => void hub.answer(request, response));
  vi.stubEnv("HF_ENDPOINT", url);
  vi.stubEnv("MY_TOKEN", GOOD);
  const { weightsGB, kind, tool, thinking } = await readHubModel(MODEL, {
    cache: cacheHere("/nonexistent"),
    tokenVariable: "MY_TOKEN",
  });
  expect([...hub.tokens]).toEqual([GOOD]);
  return { weightsGB, kind, tool, thinking };
}

const CALL = '<tool_call>\\n{\\"name\\": ';
const chat = { kind: "chat", tool: "hermes", thinking: false } as const;

it("reads one of several chat templates, which is for tools", async () => {
  const named = (name: string, template: string) => ({ name, template });
  const templates = [named("default", "{{ messages }}"), named("tool_use", CALL)];
  expect(
    await read({ "tokenizer_config.json": JSON.stringify({ chat_template: templates }) }),
  ).toEqual({ ...chat, weightsGB: 2e-6 });
});

it("adds up the parts of the weights where their index is too large to be read", async () => {
  const files = {
    "chat_template.jinja": CALL,
    "consolidated.safetensors": "x".repeat(2000),
    "model.safetensors.index.json": JSON.stringify({ padding: "x".repeat(9 * 1024 ** 2) }),
  };
  expect(await read(files)).toEqual({ ...chat, weightsGB: 2e-6 });
});

it("knows a model whose chat format vLLM or its own tokenizer writes", async () => {
  expect(await read({ "tekken.json": "{}" })).toMatchObject({ kind: "chat", tool: "mistral" });
  const v4 = { "config.json": JSON.stringify({ model_type: "deepseek_v4" }) };
  expect(await read(v4)).toMatchObject({ kind: "chat", tool: "deepseek_v4" });
  expect(await read({})).toMatchObject({ kind: undefined, tool: undefined });
});
