import { serverInvocations } from "@local-serving/vllm/argv/serverInvocations";
import { SOME_WORDS, UNKNOWN, type Word } from "@local-serving/vllm/argv/unknown";
import { describe, expect, it } from "vitest";
import { gatedEntrypoint } from "../../../components/inference-server/startGate";
import { invocationsOf } from "../../../policies/lib/invocations";

const GATE = gatedEntrypoint("vllm-b-8001");
const ARGUMENTS = ["org/model", "--port", "8001", "--gpu-memory-utilization", "0.45"];

/** What a reading says of the servers, and how much of a script it took. */
function read(words: readonly Word[], variables: Readonly<Record<string, Word>>) {
  const scope = new Map(Object.entries(variables));
  const { servers, unreadable, commands } = invocationsOf(words, scope);
  const whole = serverInvocations(words, scope);
  return {
    asWhole: { servers: whole.servers, unreadable: whole.unreadable },
    found: { servers, unreadable },
    isShort: commands.length < whole.commands.length,
  };
}

describe("the start gate", () => {
  const CASES: Readonly<Record<string, readonly [Word[], Record<string, Word>]>> = {
    "a server's arguments": [ARGUMENTS, {}],
    "no arguments": [[], {}],
    "an argument that is not known": [["org/model", "--port", UNKNOWN], {}],
    "arguments of unknown number": [[SOME_WORDS], {}],
    "variables that it doesn't use": [ARGUMENTS, { VLLM_CACHE_ROOT: "/jit", MAX_JOBS: "2" }],
    "a variable that is not known": [ARGUMENTS, { TRITON_CACHE_DIR: UNKNOWN }],
  };
  it.each(Object.entries(CASES))("starts what reading it whole says: %s", (_, [words, env]) => {
    const { found, asWhole, isShort } = read([...GATE, ...words], env);
    expect(found).toEqual({ servers: [words], unreadable: [] });
    expect(found).toEqual(asWhole);
    expect(isShort).toBe(true);
  });

  it("is read whole where a variable may change what it does", () => {
    const { found, asWhole, isShort } = read([...GATE, ...ARGUMENTS], {
      apart: "vllm serve org/other --port 8002;",
      HF_HUB_CACHE: "/hub",
    });
    expect(found).toEqual(asWhole);
    expect(isShort).toBe(false);
  });

  it("is read whole where something stands before it, behind it or in its place", () => {
    const [shell = "", option = "", gate = "", name = ""] = GATE;
    for (const script of [
      `vllm serve org/other --port 8002\n${gate}`,
      `${gate}\nvllm serve org/other --port 8002`,
    ]) {
      const { found } = read([shell, option, script, name, ...ARGUMENTS], {});
      expect(found.servers).toHaveLength(2);
      expect(found.servers).toContainEqual(["org/other", "--port", "8002"]);
    }
    const argument = ["vllm", "serve", "org/model", "--chat-template", gate];
    expect(read(argument, {}).found.servers).toEqual([argument.slice(2)]);
    expect(read(["bash", option, gate, name, ...ARGUMENTS], {}).isShort).toBe(false);
    // The name of a script's file.
    const file = [shell, "-u", gate, name, ...ARGUMENTS];
    expect(invocationsOf(file, new Map()).commands).toEqual([file]);
  });
});
