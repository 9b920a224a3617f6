import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import type { MachinePlan } from "../../components/plan/types";
import { LABEL } from "../../components/planned/container";
import { recordPathOf } from "../../components/preflight/preflight";
import { loadStackFile } from "../../components/settings/load";
import { runServing } from "../cli/runServing";
import { serverInput } from "../fixtures/machine";
import { CHAT_UI } from "../fixtures/services";
import { mustRun, run } from "../layers/run";
import { temporaryFolder } from "../layers/temporaryFolder";
import { describeDocker } from "./available";
import { type PinnedImage, pinnedImage } from "./image";

/** Docker's names must not meet another test's. */
const UNIQUE = `leftovers-${process.pid}`;

/** Another stack may have a machine of this name on the engine: the network tells. */
const OURS = ["--label", `${LABEL.machine}=dgx`, "--network", UNIQUE];

describeDocker("serving status --leftovers on a real engine", () => {
  const home = temporaryFolder("leftovers-");
  const file = join(home, "Pulumi.dgx.yaml");
  const renamed = `${UNIQUE}-renamed`;
  const volume = `${UNIQUE}-chat-ui-data`;
  let image: PinnedImage;
  let old: PinnedImage;
  let machine: MachinePlan;
  let container: string;
  const write = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  const pathOf = (role: string) => machine.files.find((each) => each.role === role)?.path ?? "";
  const modelAt = (name: string) => join(home, ".cache/huggingface/hub", name);

  beforeAll(async () => {
    // Other tests move the tags of the repository that they share.
    const repository = `${UNIQUE}/vllm-openai`;
    image = await pinnedImage({ repository });
    old = await pinnedImage({ repository, tag: "v0.29.0" });
    const inferenceServers = {
      b: serverInput({ image: image.reference, servedModelName: UNIQUE }),
    };
    const dgx = {
      totalGiB: 121.63,
      instanceA: "none",
      network: UNIQUE,
      inferenceServers,
      clients: { codex: {} },
      chatUi: CHAT_UI,
    };
    write(file, JSON.stringify({ config: { "local-serving:machines": { dgx } } }));
    const [planned] = plan(loadStackFile(file), { home }).machines;
    if (planned === undefined) throw new Error("no machine");
    machine = planned;
    container = machine.containers[0]?.name ?? "";
    await mustRun("docker", ["network", "create", UNIQUE]);
    await mustRun("docker", ["volume", "create", volume]);
    await mustRun("docker", ["create", "--name", container, ...OURS, image.reference]);
    write(join(modelAt("models--org--model"), "blobs/weights"), "x".repeat(5000));
    write(join(modelAt("models--org--other"), "blobs/weights"), "y");
  });
  afterAll(async () => {
    await run("docker", ["rm", "--force", container, renamed]);
    await run("docker", ["volume", "rm", "--force", volume]);
    await run("docker", ["network", "rm", UNIQUE]);
  });

  async function left() {
    const { code, out, err } = await runServing(
      ["inventory", "--leftovers", "--file", file, "--format", "json"],
      {
        HOME: home,
      },
    );
    expect([code, err]).toEqual([0, ""]);
    const found: { kind: string; name: string; size?: string; what: string; remove: string }[] =
      JSON.parse(out).leftovers;
    // Other tests have images of the same repository.
    return found.filter(
      ({ kind, name }) =>
        kind !== "image" || [image, old].some(({ digest }) => name.endsWith(digest)),
    );
  }
  const names = async () => (await left()).map(({ kind, name }) => `${kind} ${name}`);
  const imageName = ({ tag, digest }: PinnedImage) => `image ${tag}@${digest}`;

  it("is little while the stack is applied: what nothing of it uses", async () => {
    for (const each of machine.files) write(each.path, each.text);
    write(`${pathOf("codex-config")}.edited`, "mine");
    expect(await names()).toEqual([
      `volume ${volume}`,
      imageName(old),
      `model ${modelAt("models--org--other")}`,
      `file ${pathOf("codex-config")}.edited`,
    ]);
  });

  it("is a container that another stack file had", async () => {
    await mustRun("docker", ["create", "--name", renamed, ...OURS, image.reference]);
    const [first] = await left();
    expect(first).toEqual({
      ...{ kind: "container", name: renamed, remove: `docker rm --force ${renamed}` },
      what: "created; has our label and isn't in the stack file",
    });
  });

  it("is everything once the stack is gone, and each command removes what it says", async () => {
    await mustRun("docker", ["rm", "--force", container, renamed]);
    for (const { path, role } of machine.files)
      if (role === "applied-plan") await mustRun("rm", [path]);
    write(join(recordPathOf(pathOf("codex-config")), "original"), "theirs");
    const state = dirname(pathOf("applied-plan"));
    write(join(state, "update.json"), "{}");
    const copies = join(state, "copies/chat-ui");
    write(join(copies, "2026-11-27/data.tar"), "chats");
    const found = await left();
    expect(found.map(({ kind, name }) => `${kind} ${name}`).sort()).toEqual(
      [
        `volume ${volume}`,
        `network ${UNIQUE}`,
        imageName(image),
        imageName(old),
        `model ${modelAt("models--org--model")}`,
        `model ${modelAt("models--org--other")}`,
        `file ${recordPathOf(pathOf("codex-config"))}`,
        `file ${pathOf("codex-config")}.edited`,
        `state ${join(state, "start-gate")}`,
        `state ${join(state, "update.json")}`,
        `copies ${copies}`,
      ].sort(),
    );
    expect(found.find(({ kind }) => kind === "copies")?.what).toBe(
      "backups of the data of chat-ui",
    );
    // Whoever removes our state keeps the backups.
    for (const { kind, remove } of found) if (kind === "state") await mustRun("sh", ["-c", remove]);
    expect(existsSync(join(copies, "2026-11-27/data.tar"))).toBe(true);
    expect(found.find(({ kind }) => kind === "volume")?.what).toBe(
      "accounts and chats of the chat UI",
    );
    expect(found.find(({ name }) => name.endsWith("--model"))?.size).toMatch(/^\d+K$/);
    expect(existsSync(modelAt("models--org--model"))).toBe(true);
    for (const { remove } of found) await mustRun("sh", ["-c", remove]);
    const [last, ...more] = await left();
    expect({ kind: last?.kind, name: last?.name, more }).toEqual({
      ...{ kind: "state", name: state, more: [] },
    });
    await mustRun("sh", ["-c", last?.remove ?? ""]);
    expect(await names()).toEqual([]);
    expect(existsSync(join(home, ".cache/huggingface/hub"))).toBe(true);
    const { out } = await runServing(["inventory", "--leftovers", "--file", file], { HOME: home });
    expect(out).toMatch(/^Machine dgx/);
  });
});
