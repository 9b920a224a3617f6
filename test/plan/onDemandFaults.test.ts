import { describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { faultLines } from "../fixtures/faults";
import { stack } from "../fixtures/machine";
import { machine, onRequest, RESIDENT } from "../fixtures/onDemand";

const faults = (more: Record<string, unknown> = {}) =>
  faultLines(() => plan(stack(machine(more)), { home: "/home/me" }), "machines.dgx.");

const MACRO = "m$".concat("{PORT}");

describe("what llama-swap would read otherwise than it is meant", () => {
  it.each(["/data/my state", "/data/it's", '/data/a"b', "/data/a\\b", "/data/a$b"])(
    "is refused as the folder of its command line: %s",
    (stateDirectory) => {
      expect(faults({ stateDirectory })).toEqual([
        `stateDirectory: llama-swap starts servers by a command line with this folder in it, ${stateDirectory}/dgx/on-demand: for \`onDemand\` write one without blanks, quotes, backslashes and \`$\`, such as \`/var/lib/local-serving\`.`,
      ]);
      // Without llama-swap nothing splits it.
      const inferenceServers = { b: RESIDENT };
      expect(faults({ stateDirectory, onDemand: undefined, inferenceServers })).toEqual([]);
    },
  );

  it.each(["/data/é", "/data/a%b", "/data/a=b"])("is no other folder: %s", (stateDirectory) => {
    expect(faults({ stateDirectory })).toEqual([]);
  });

  it("is refused as a name", () => {
    const inferenceServers = { b: RESIDENT, c: onRequest(MACRO, 8002) };
    expect(faults({ inferenceServers })).toEqual([
      `inferenceServers.c.servedModelName: llama-swap takes \`$\{\` in "${MACRO}" for a value of its own: write names without it (\`servedModelName\`, \`aliases\`).`,
    ]);
    expect(faults({ inferenceServers: { b: RESIDENT, c: onRequest("m$5", 8002) } })).toEqual([]);
    expect(faults()).toEqual([]);
  });
});
