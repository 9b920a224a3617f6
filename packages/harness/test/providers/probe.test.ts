import { describe, expect, it } from "vitest";
import { checkProfile } from "../../providers/check";
import { probeProviders, verdictsOf } from "../../providers/probe";
import { parseProfile } from "../../providers/profile";

async function probe(text: string) {
  const document = parseProfile("p.toml", text);
  return verdictsOf(await probeProviders(document, checkProfile(document), process.env, 5));
}

describe("probes of a profile", () => {
  it("run every healthcheck, and a chat request where a provider is openai-compatible", async () => {
    const results = await probe(
      [
        '[providers.a]\ntype = "cli"\ncommand = "x {review_request}"\nhealthcheck = "true"',
        '[providers.b]\ntype = "openai-compatible"\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\nhealthcheck = "false"',
        '[providers.c]\ntype = "ollama"\nmodel = "m"',
      ].join("\n"),
    );
    expect(results.map(({ name, status }) => [name, status])).toEqual([
      ["a: healthcheck", "pass"],
      ["b: healthcheck", "fail"],
      ["b: chat request", "fail"],
      ["c: healthcheck", "skip"],
    ]);
  });

  it("run the command as the harness reads it", async () => {
    const [result] = await probe(
      '[providers.a]\ntype = "cli"\nhealthcheck = "test \\"a b\\" = \\"a b\\""',
    );
    expect(result?.status).toBe("fail");
  });

  it("run nothing of a provider with a fault", async () => {
    const results = await probe('[providers.a]\ntype = "cli" # c\nhealthcheck = "true"');
    expect(results.map(({ status, detail }) => [status, detail])).toEqual([
      ["skip", "its table has faults"],
    ]);
  });

  it("pass over keys that the schema does not know", async () => {
    const [result] = await probe(
      '[providers.a]\ntype = "cli"\nhealthcheck = "true"\ncolour = "blue"',
    );
    expect(result?.status).toBe("pass");
  });
});
