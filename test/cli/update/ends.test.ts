import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Made, madeIn } from "../../../cli/engine/eventLog";
import type { Leftover } from "../../../cli/inventory/leftovers";
import { leftoversText, stateText } from "../../../cli/update/afterDown";
import { launcherLines, nextText } from "../../../cli/update/afterUp";
import { plan } from "../../../components/plan/plan";
import type { MachinePlan } from "../../../components/plan/types";
import { ELSEWHERE } from "../../fixtures/machine";
import { ranks } from "../../fixtures/ranks";
import { BRIDGE, HOME, planned } from "../../fixtures/services";
import { temporaryFolder } from "../../layers/temporaryFolder";

const CONTAINER = "docker:index/container:Container";
const COMMAND = "command:local:Command";
const made = (...resources: readonly string[]): Made[] =>
  resources.map((resource) => ({ type: CONTAINER, resource, isNew: true }));
const wrote = (...resources: readonly string[]): Made[] =>
  resources.map((resource) => ({ type: COMMAND, resource, isNew: false }));

describe("what an `up` made", () => {
  it("is what its update made or changed, and not what its preview would", () => {
    const log = join(temporaryFolder("made-"), "events");
    expect(madeIn(log)).toEqual([]);
    const event = (op: string, name: string, planning = false) =>
      JSON.stringify({
        resourcePreEvent: {
          metadata: { op, type: CONTAINER, urn: `urn:pulumi:dgx::local-serving::x::${name}` },
          planning,
        },
      });
    const events = [
      event("create", "dgx-planned", true),
      event("same", "dgx-same"),
      event("delete-replaced", "dgx-old"),
      event("replace", "dgx-b"),
      event("create-replacement", "dgx-b"),
      event("create", "dgx-c"),
      event("update", "dgx-d"),
      '{"summaryEvent": {}}',
    ];
    writeFileSync(log, events.join("\n"));
    expect(madeIn(log)).toEqual([
      { type: CONTAINER, resource: "dgx-b", isNew: true },
      { type: CONTAINER, resource: "dgx-c", isNew: true },
      { type: CONTAINER, resource: "dgx-d", isNew: false },
    ]);
  });
});

describe("what to run after an `up`", () => {
  const here = [planned()];
  const KERNELS = "if its kernels are already in the volume local-serving-b-jit";

  it("is `serving status --wait` where a server was made or replaced, with the time that it takes", () => {
    const expected = `Next: serving status --wait, then serving verify (b answers after 12 to 29 min, or 2 to 14 min ${KERNELS}; plus the download of a model, unless \`serving fetch\` has done it)`;
    expect(nextText(here, made("dgx-b"))).toBe(expected);
    expect(nextText(here, made("dgx-b", "dgx-bridge"))).toBe(expected);
  });

  it("is `serving status` where only a service was, which `serving status --wait` doesn't wait for", () => {
    expect(nextText(here, made("dgx-bridge"))).toBe(
      "Next: serving status, then serving verify (bridge answers after 8 to 60 s)",
    );
  });

  it("is nothing where nothing has to become ready", () => {
    expect(nextText(here, [])).toBeUndefined();
    // A file, a container that was changed where it runs, and one of a resource of another kind.
    expect(nextText(here, wrote("dgx-launcher-codex"))).toBeUndefined();
    expect(nextText(here, [{ type: CONTAINER, resource: "dgx-b", isNew: false }])).toBeUndefined();
    expect(nextText(here, [{ type: COMMAND, resource: "dgx-b", isNew: true }])).toBeUndefined();
  });

  it("is nothing where the server starts on request", () => {
    const later = planned({}, { start: "onRequest" });
    expect(nextText([later], made("dgx-b"))).toBeUndefined();
  });

  it("names the head of a server on several machines, by its machine", () => {
    const { machines } = plan(ranks(), { home: HOME });
    const names = machines.flatMap(({ containers }) => containers.map(({ resource }) => resource));
    const text = nextText(machines, made(...names));
    expect(text).toMatch(
      /^Next: serving status --wait, then serving verify \(dgx1\.b answers after /,
    );
    expect(text).not.toContain("dgx2.b");
  });
});

describe("where clients' launchers are", () => {
  const bin = `${HOME}/.local/bin`;
  const machines = [planned()];
  const both = wrote("dgx-launcher-codex", "dgx-launcher-client-env");

  it("is said where they were written, and that their folder isn't on PATH", () => {
    expect(launcherLines(machines, both, "/usr/bin:/bin")).toEqual([
      `Clients start with local-codex, local-env in ${bin}, which is not on your PATH: \`export PATH=${bin}:$PATH\`.`,
    ]);
    expect(launcherLines(machines, both, `/usr/bin:${bin}`)).toEqual([
      `Clients start with local-codex, local-env in ${bin}.`,
    ]);
  });

  it("is not said where none was written", () => {
    expect(launcherLines(machines, made("dgx-b"), "/bin")).toEqual([]);
    // Its configuration alone.
    expect(launcherLines(machines, wrote("dgx-codex-config"), "/bin")).toEqual([]);
  });

  it("is on the machine where that is elsewhere, and here where the clients are here", () => {
    const bridge = { ...BRIDGE, listen: "0.0.0.0", keyVariable: "LOCAL_SERVING_BRIDGE_KEY" };
    const there = (clients: object): MachinePlan[] => [
      planned({
        dockerHost: ELSEWHERE,
        bridge,
        clients: { codex: { via: "bridge" }, ...clients },
      }),
    ];
    const one = wrote("dgx-launcher-codex");
    expect(launcherLines(there({ on: "machine" }), one, "/bin")).toEqual([
      expect.stringMatching(/^Clients start with local-codex in \S+\/\.local\/bin on dgx\.$/),
    ]);
    expect(launcherLines(there({ on: "here" }), one, "/bin")).toEqual([
      expect.stringContaining("which is not on your PATH"),
    ]);
  });

  it("gives a command that a shell finds the launcher by", () => {
    const folder = temporaryFolder("a bin ");
    writeFileSync(join(folder, "local-codex"), "#!/bin/sh\necho found\n", { mode: 0o755 });
    const placed = [planned({ clients: { launcherFolder: folder, codex: {} } })];
    const [line = ""] = launcherLines(placed, wrote("dgx-launcher-codex"), "/bin");
    const [, command = ""] = /`(.*)`\.$/.exec(line) ?? [];
    expect(execFileSync("sh", ["-c", `${command}; local-codex`], { encoding: "utf8" })).toBe(
      "found\n",
    );
  });
});

describe("what a `down` keeps", () => {
  const left = (kind: string, name = "x", what = "why"): Leftover => ({
    ...{ kind, name, what },
    remove: "rm",
  });

  it("is said by kind, and a volume by name with what it holds", () => {
    const found = [
      left("model"),
      left("image"),
      left("image"),
      left("volume", "local-serving-chat-ui-data", "accounts and chats of the chat UI"),
      left("file"),
      left("state"),
      left("state"),
      left("copies", "x", "backups of the data of chat-ui"),
      left("network"),
      left("container"),
    ];
    expect(leftoversText("dgx", found)).toBe(
      "Kept on dgx: 1 container, the volume local-serving-chat-ui-data (accounts and chats of the chat UI), 1 network, 2 images, 1 model in the cache, 1 file, our state, backups of the data of chat-ui.",
    );
  });

  it("is nothing where nothing is left", () => {
    expect(leftoversText("dgx", [])).toBe("Nothing is left on dgx that isn't in use.");
  });

  it("contradicts the engine", () => {
    expect(stateText(".pulumi-state")).toBe(
      "Don't run `pulumi stack rm`: a bare `pulumi` looks for the stack in another place. Its state stays in .pulumi-state for the next `serving up`.",
    );
  });
});
