import { ask, NoAnswer } from "@local-serving/base/http/ask";
import { describe, expect, it } from "vitest";
import { probesOf } from "../../../cli/verify/run/catalog";
import { freePort } from "../../layers/freePort";
import { TRANSPORT_FAULTS, type TransportFault } from "../../stand-in/faults";
import { failed, planned, resultOf, run, standIn, startPlanned } from "./environment";

const PROBES = probesOf("inference-server").map((probe) => probe.name);

/** What the first probe says of each. */
const SAID: Record<TransportFault, RegExp> = {
  hanging: /^no whole answer within 1 s$/,
  dripping: /^no whole answer within 1 s$/,
  huge: /^an answer of more than 8 MiB, which was cut off$/,
  "endless-stream": /^an answer of more than 8 MiB, which was cut off$/,
  "headers-only": /^no whole answer within 1 s$/,
  redirecting: /^\/health answered 307: an empty body$/,
  "switching-protocols": /^no valid HTTP answer \(it wants to switch/,
  "only-hints": /^no whole answer within 1 s$/,
  "endless-headers": /^no valid HTTP answer \(HPE_HEADER_OVERFLOW\)$/,
  "packed-bomb": /^alive$/,
  "no-utf-8": /^alive$/,
  "pattern-traps": /^alive$/,
  "non-json": /^alive$/,
  "half-closed": /^the connection was closed (in the middle of|before) the answer/,
  "closed-at-once": /^the connection was closed before the answer was whole$/,
  "no-http": /^no valid HTTP answer \(HPE_/,
  "lying-everywhere": /^alive$/,
  "empty-objects": /^alive$/,
  "wrong-types": /^alive$/,
};

const JSON_TYPE = { "content-type": "application/json" };

/** Those that let a request wait until its limit; the others answer something. */
const SILENT: readonly TransportFault[] = ["hanging", "dripping", "headers-only", "only-hints"];

describe("a server that gives no real answer", () => {
  const nothingPasses = async (fault: TransportFault, timeoutSeconds: number) => {
    const server = await startPlanned(fault);
    const results = await run(planned(server.port), { only: PROBES, timeoutSeconds });
    await server.close();
    expect(resultOf(results, "health").detail).toMatch(SAID[fault]);
    expect(results.filter(({ status }) => status === "pass").map(({ name }) => name)).toEqual([
      ...(resultOf(results, "health").status === "pass" ? ["health"] : []),
      // It does say what its window is.
      ...(fault === "pattern-traps" ? ["max-model-len"] : []),
    ]);
    expect(failed(results).length).toBeGreaterThan(0);
    // What a server says never reaches a terminal as it is.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for.
    expect(results.map(({ detail }) => detail).join("")).not.toMatch(/[\u0000-\u001f]/);
    for (const { detail, fix, status } of results) {
      expect(detail.length).toBeLessThan(500);
      if (status === "fail") expect(fix).not.toBe("");
    }
  };
  const TITLE = "%s: no probe of content passes, and the run ends";

  it.concurrent.each(SILENT)(TITLE, (fault) => nothingPasses(fault, 1));

  it.each(TRANSPORT_FAULTS.filter((fault) => !SILENT.includes(fault)))(TITLE, (fault) =>
    nothingPasses(fault, 5),
  );

  it("an answer nested deeper than can be printed ends its own probe and not the run", async () => {
    const deep = `${'{"a":'.repeat(200_000)}1${"}".repeat(200_000)}`;
    const call = `{"type":"tool_use","name":"read_file","input":{"path":"/etc/hostname","more":${deep}}}`;
    const text = `{"model":"model","content":[${call}],"stop_reason":"tool_use"}`;
    const port = await standIn({
      routes: { "POST /v1/messages": () => ({ status: 200, text, headers: JSON_TYPE }) },
    });
    const results = await run(planned(port), { only: ["health", "messages-tools", "window"] });
    expect(resultOf(results, "messages-tools")).toMatchObject({
      status: "fail",
      detail: expect.stringMatching(/^the answer could not be judged: /),
      fix: expect.stringContaining("clients.claudeCode.via: bridge"),
    });
    expect(results).toHaveLength(3);
  });

  it("a list without an end fills no screen, and nothing in it turns the line around", async () => {
    const data = Array.from({ length: 20_000 }, (_, index) => ({
      id: index === 0 ? "model" : `\u202eorg/model\u2028${index}`,
      max_model_len: 131_072,
    }));
    const port = await standIn({
      routes: { "GET /v1/models": () => ({ status: 200, json: { data } }) },
    });
    const [result] = await run(planned(port), { only: ["models"] });
    expect(result?.detail.length).toBeLessThan(2100);
    expect(result?.detail).not.toMatch(/[\u202e\u2028]/);
  });

  it("a key that a server repeats is not repeated again", async () => {
    const key = "hf_Zk3mQ8vT1xWcRb7NdLpY5sHgJf2aEuKo";
    const message = `401 Client Error for url https://me:${key}@huggingface.co, token ${key}`;
    const port = await standIn({
      routes: {
        "POST /v1/chat/completions": () => ({ status: 500, json: { error: { message } } }),
      },
    });
    const [result] = await run(planned(port), { only: ["chat"] });
    expect(result?.detail).toBe(
      "/v1/chat/completions answered 500: 401 Client Error for url https://me:<redacted>@huggingface.co, token <redacted>",
    );
    // A server that fails in itself says why in its log alone.
    expect(result?.fix).toBe(
      `The server failed. See its log (docker logs vllm-model-${port}), then run serving doctor.`,
    );
  });

  it("nobody there: one failure, and the rest is not run", async () => {
    const port = await freePort();
    const results = await run(planned(port), { only: PROBES });
    expect(failed(results)).toEqual(["health"]);
    expect(resultOf(results, "health").detail).toBe("nothing listens there (connection refused)");
    expect(resultOf(results, "chat")).toMatchObject({
      status: "skip",
      detail: `not run: vllm-model-${port} does not answer (see health)`,
    });
  });

  it("a name that can't be found is reported as such", async () => {
    const asked = ask("http://no-such-host.invalid/", { timeoutSeconds: 10 });
    await expect(asked).rejects.toThrow(NoAnswer);
    await expect(asked).rejects.toThrow(/can't be reached/);
  });
});
