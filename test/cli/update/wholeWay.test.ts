import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { plansAnything } from "../../../cli/engine/eventLog";
import { unreadEntries } from "../../../cli/pin/unread";
import { entryName } from "../../../cli/pin/writePin";
import { readStack } from "../../../cli/stack/readStack";
import { isMore } from "../../../cli/update/isMore";
import { useText } from "../../../cli/update/useText";
import { parseStackFile } from "../../../components/settings/load";
import type { Judged } from "../../../policies/judge";
import { DIGEST, serverInput, stackInput } from "../../fixtures/machine";
import { BRIDGE, CHAT_UI } from "../../fixtures/services";
import { atKeyboard } from "../../layers/keyboard";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { runServing } from "../runServing";

const OTHER = `sha256:${"fedcba9876543210".repeat(4)}`;

/** The text of a stack file with one server. */
const text = (server: object = {}, machine: object = {}) => {
  const { machines } = stackInput({
    inferenceServers: { b: serverInput({ ...server }) },
    ...machine,
  });
  return stringify({ config: { "local-serving:machines": machines } });
};

const stack = (...given: Parameters<typeof text>) => readStack("Pulumi.dgx.yaml", text(...given));

describe("an image that nobody has looked into", () => {
  const record = { vllm: "0.30.0", transformers: "5.10.4", source: "somebody" };
  const image = `vllm/vllm-openai:v0.30.0@${DIGEST}`;
  it.each<[string, object, string[]]>([
    ["has no digest", { image: "vllm/vllm-openai:v0.30.0" }, ["dgx.inferenceServers.b"]],
    [
      "has published versions",
      { image, versions: { ...record, evidence: "published", digest: DIGEST } },
      ["dgx.inferenceServers.b"],
    ],
    [
      "has the versions of another one",
      { image, versions: { ...record, evidence: "read", digest: OTHER } },
      ["dgx.inferenceServers.b"],
    ],
    ["was looked into", { image, versions: { ...record, evidence: "read", digest: DIGEST } }, []],
    ["is refused by its name", { image: "lmsysorg/sglang:spark" }, []],
  ])("%s", (_, server, entries) => {
    const settings = parseStackFile("Pulumi.dgx.yaml", text(server));
    expect(unreadEntries(settings).map(entryName)).toEqual(entries);
  });
});

describe("an update at a terminal that is refused", () => {
  it("says why on one screen, asks nothing, and starts neither a download nor the engine", async () => {
    // Without a docker on PATH the preflight refuses it.
    const { code, out, err } = await atKeyboard(["y"], () =>
      runServing(["up", "--stack", "dgx"], { PATH: "/nowhere" }),
    );
    expect(code).toBe(1);
    expect(out).toMatch(/^REFUSED by preflight of dgx: /);
    expect(out).toContain("No `docker` on PATH");
    expect(out + err).not.toMatch(/Go on|Then: |Pulumi CLI/);
  });
});

describe("what looking into images changes", () => {
  const pinned = { image: `vllm/vllm-openai:v0.30.0@${OTHER}` };
  const before = stack();
  const warned: Judged = {
    name: "moving-tag",
    level: "mandatory",
    verdict: "warned",
    message: "",
    resource: "dgx-b",
  };
  it.each<[string, ReturnType<typeof stack>, Judged[], boolean]>([
    ["a digest", stack(pinned), [], false],
    ["a digest and an argument", stack({ ...pinned, maxNumSeqs: 2 }), [], true],
    ["a digest and another container", stack(pinned, { bridge: BRIDGE }), [], true],
    ["a digest that is warned about", stack(pinned), [warned], true],
    ["a digest with a note", stack(pinned), [{ ...warned, note: true }], false],
  ])("is more than was agreed to: %s", (_, now, is, expected) => {
    expect(isMore({ before, now, was: [], is })).toBe(expected);
    expect(isMore({ before, now, was: is, is })).toBe(expected && is.length === 0);
  });
});

describe("how what runs is used", () => {
  const { plan } = stack(
    {},
    { bridge: BRIDGE, chatUi: CHAT_UI, clients: { claudeCode: {}, clientEnv: {} } },
  );
  const [machine] = plan.machines;
  const home = machine?.clients[0]?.command.replace(/\/[^/]+$/, "") ?? "";

  it("says what to type and where it answers", () => {
    const path = temporaryFolder("has-claude-");
    writeFileSync(join(path, "claude"), "#!/bin/sh\n", { mode: 0o755 });
    const lines = useText(plan.machines, { PATH: `${path}:${home}` }).split("\n");
    expect(lines.slice(0, 2)).toEqual(["Use it:", "  local-claude, local-env"]);
    const [b] = machine?.inferenceServers ?? [];
    expect(lines).toContain(`  b http://127.0.0.1:8001/v1, model ${b?.servedModelName}`);
    expect(lines.join("\n")).toMatch(/\n {2}Open WebUI http:\/\/127\.0\.0\.1:\d+/);
  });

  it("has each launcher's path off PATH, and says which program is missing", () => {
    const lines = useText(plan.machines, { PATH: "" }).split("\n");
    expect(lines.slice(1, 3)).toEqual([
      `  ${home}/local-env`,
      `  ${home}/local-claude, once claude is there: npm install --global @anthropic-ai/claude-code`,
    ]);
  });
});

it("a preview plans something where a step of it changes a resource of ours", () => {
  const log = join(temporaryFolder("preview-"), "events");
  const plans = (op: string, type: string, planning: boolean) => {
    const metadata = { op, type, urn: "" };
    writeFileSync(log, `${JSON.stringify({ resourcePreEvent: { metadata, planning } })}\n`);
    return plansAnything(log);
  };
  expect(plans("replace", "docker:index/container:Container", true)).toBe(true);
  expect(plans("same", "docker:index/container:Container", true)).toBe(false);
  expect(plans("create", "pulumi:pulumi:Stack", true)).toBe(false);
  expect(plans("replace", "docker:index/container:Container", false)).toBe(false);
});
