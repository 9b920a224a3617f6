import { spawn } from "node:child_process";
import { once } from "node:events";
import { json, text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { PULL_MODEL } from "../../components/services/simple-server/simpleServer";
import { httpServer } from "../layers/httpServer";

/** A server that knows the given models and answers a pull with the given lines. */
async function ollama(known: readonly string[], lines: readonly unknown[]) {
  const asked: [string | undefined, unknown][] = [];
  const { server, url, port } = await httpServer(async (request, response) => {
    const { model } = (await json(request)) as { model: string };
    asked.push([request.url, model]);
    if (request.url === "/api/show") {
      response.statusCode = known.includes(model) ? 200 : 404;
      return response.end("{}");
    }
    for (const line of lines) response.write(`${JSON.stringify(line)}\n`);
    response.end();
  });
  return { asked, url, server, port };
}

/** Not spawnSync: the stand-in lives in this process. */
async function pull(model: string, url: string) {
  const child = spawn("sh", ["-c", PULL_MODEL], {
    env: { ...process.env, MODEL: model, BASE_URL: url, ANSWER_WITHIN_SECONDS: "3" },
  });
  const [said, refused] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { status: child.exitCode, said: said.trim(), refused: refused.trim() };
}

const layer = { status: "pulling aabb", digest: "sha256:aabb", total: 5_200_000_000 };

describe("pulling a model", () => {
  it("asks for nothing that is there", async () => {
    const { asked, url } = await ollama(["qwen3:8b"], []);
    expect(await pull("qwen3:8b", url)).toEqual({
      status: 0,
      said: "qwen3:8b is there.",
      refused: "",
    });
    expect(asked).toEqual([["/api/show", "qwen3:8b"]]);
  });

  it("waits for a server that is just starting", async () => {
    const { server: late, url, port } = await ollama(["a"], []);
    await new Promise((resolve) => late.close(resolve));
    const pulling = pull("a", url);
    await new Promise((resolve) => setTimeout(resolve, 1200));
    late.listen(port, "127.0.0.1");
    expect(await pulling).toMatchObject({ status: 0, said: "a is there." });
  });

  it("says how far it is, a line for each tenth", async () => {
    const { asked, url } = await ollama(
      [],
      [
        { status: "pulling manifest" },
        layer,
        ...[0.02, 0.11, 0.12, 0.55, 1].map((part) => ({
          ...layer,
          completed: 5_200_000_000 * part,
        })),
        { status: "verifying sha256 digest" },
        { status: "success" },
      ],
    );
    const { status, said } = await pull("qwen3:8b", url);
    expect(status).toBe(0);
    expect(said.split("\n")).toEqual([
      "qwen3:8b: pulling manifest",
      "qwen3:8b: pulling aabb",
      "qwen3:8b: pulling aabb 10 % of 5.20 GB",
      "qwen3:8b: pulling aabb 50 % of 5.20 GB",
      "qwen3:8b: pulling aabb 100 % of 5.20 GB",
      "qwen3:8b: verifying sha256 digest",
      "qwen3:8b: success",
    ]);
    expect(asked.map(([path]) => path)).toEqual(["/api/show", "/api/pull"]);
  });

  it("fails with what Ollama says, where the model is not to be had", async () => {
    const { url } = await ollama(
      [],
      [{ status: "pulling manifest" }, { error: 'pull model manifest: "file" does not exist' }],
    );
    expect(await pull("nope:1b", url)).toMatchObject({
      status: 1,
      refused: 'nope:1b was not pulled: pull model manifest: \\"file\\" does not exist',
    });
  });

  it("fails when the connection ends early, and when nothing answers", async () => {
    const { url } = await ollama([], [{ status: "pulling manifest" }]);
    expect(await pull("a", url)).toMatchObject({
      status: 1,
      refused: "a was not pulled: the connection ended early",
    });
    const nothing = await pull("a", "http://127.0.0.1:9");
    expect(nothing.status).toBe(1);
    expect(nothing.refused).toContain(
      "Ollama does not answer at http://127.0.0.1:9: a was not pulled.",
    );
  });
});
