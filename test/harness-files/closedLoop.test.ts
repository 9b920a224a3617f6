import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { checkProfile } from "@local-serving/harness/providers/check";
import { probeProviders, verdictsOf } from "@local-serving/harness/providers/probe";
import { parseProfile } from "@local-serving/harness/providers/profile";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type StandIn, startStandIn } from "../stand-in/server";
import { planned } from "./planned";

/** Stands for Ollama: it answers only what a healthcheck asks. */
const ollama = createServer((request, answer) => {
  answer.statusCode = request.url === "/api/version" ? 200 : 404;
  answer.end('{"version":"0.14.0"}');
});

describe("the profile, asked as the harness asks it", () => {
  let server: StandIn;
  let text: string;

  beforeAll(async () => {
    await new Promise<void>((resolve) => ollama.listen(0, "127.0.0.1", resolve));
    const { port } = ollama.address() as AddressInfo;
    const machine = { simpleServer: { mode: "host", port, models: ["m"] } };
    // The very arguments of the planned container, but for a free port.
    const command = planned({}, machine).machine.containers[0]?.command ?? [];
    server = await startStandIn([...command, "--port", "0"]);
    text = planned({ maxTokens: 512 }, machine, { port: server.port }).providers().text;
  });
  afterAll(async () => {
    await server.close();
    ollama.close();
  });

  const probe = async (env: Record<string, string>) => {
    const document = parseProfile("providers.toml", text);
    const probed = await probeProviders(document, checkProfile(document), {
      PATH: process.env.PATH,
      ...env,
    });
    return Object.fromEntries(verdictsOf(probed).map(({ name, status }) => [name, status]));
  };

  it("finds both servers, and the model answers under its name", async () => {
    expect(await probe({ HX_LOCAL_KEY: "local" })).toEqual({
      "local-b: healthcheck": "pass",
      "local-b: chat request": "pass",
      "ollama: healthcheck": "pass",
    });
  });

  it("takes the server for gone while the key's variable is empty, as the harness itself would", async () => {
    expect(await probe({})).toEqual({
      "local-b: healthcheck": "fail",
      "local-b: chat request": "fail",
      "ollama: healthcheck": "pass",
    });
  });
});
