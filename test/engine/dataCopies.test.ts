import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { putBackMigrated } from "../../cli/copies/putBackMigrated";
import { readStack } from "../../cli/stack/readStack";
import type { PinnedImage } from "../docker/image";
import { freePort } from "../layers/freePort";
import { mustRun } from "../layers/run";
import { describeEngineWithDocker } from "./available";
import { chatUiImage } from "./chatUiStub";
import { TOTAL_GIB } from "./stackConfig";
import { writeStackFile } from "./stackFile";
import { Workspace } from "./workspace";

describeEngineWithDocker("copies of the chat UI's data", () => {
  let workspace: Workspace;
  let images: Record<"old" | "newer", PinnedImage>;
  let port = 0;
  let network = "";
  const container = () => `open-webui-${port}`;
  const copies = () => join(workspace.home, ".local/share/local-serving/dgx/copies/chat-ui");
  const names = () =>
    existsSync(copies())
      ? readdirSync(copies())
          .filter((name) => !name.startsWith("."))
          .sort()
      : [];
  const about = (name: string) =>
    JSON.parse(readFileSync(join(copies(), name, "copy.json"), "utf8")) as Record<string, unknown>;

  const configOf = (image: PinnedImage) => ({
    "local-serving:machines": {
      dgx: {
        ...{ totalGiB: TOTAL_GIB, network, operatingSystemGiB: 1, instanceA: "none" },
        chatUi: { image: image.reference, port, connections: [] },
      },
    },
  });
  const up = (image: PinnedImage) => {
    workspace.configure(configOf(image));
    return workspace.up();
  };
  /** The revision that answers on the port. */
  const answers = async (): Promise<string> => {
    let said = "";
    await expect
      .poll(async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
        said = (await answer?.text()) ?? "";
        return said;
      })
      .not.toBe("");
    return said;
  };

  beforeAll(async () => {
    images = {
      old: await chatUiImage({ version: "0.11.3" }),
      newer: await chatUiImage({ version: "0.12.4" }),
    };
    port = await freePort();
    network = `net-c${port}`;
    workspace = await Workspace.open({ config: configOf(images.old) });
  });
  afterAll(async () => {
    await workspace.close();
    await mustRun("docker", ["volume", "rm", "--force", `${network}-chat-ui-data`]);
  });

  it("are not made by the first `up`, nor by one that changes nothing", async () => {
    const first = await up(images.old);
    expect(first, first.stdout + first.stderr).toMatchObject({ code: 0 });
    expect(await answers()).toBe("0.11.3");
    expect(names()).toEqual([]);
    const second = await up(images.old);
    expect([second.code, second.steps]).toEqual([0, []]);
  });

  it("are not made, and nothing restarts, when the resource is new to a stack", async () => {
    const state = JSON.parse(await workspace.state()) as {
      deployment: {
        resources: {
          urn: string;
          dependencies?: string[];
          propertyDependencies?: Record<string, string[]>;
        }[];
      };
    };
    const isCopy = (urn: string) => urn.endsWith("::dgx-chat-ui-data-copy");
    const { resources } = state.deployment;
    state.deployment.resources = resources
      .filter(({ urn }) => !isCopy(urn))
      .map(({ dependencies = [], ...each }) => ({
        ...each,
        dependencies: dependencies.filter((urn) => !isCopy(urn)),
      }));
    expect(state.deployment.resources.length).toBe(resources.length - 1);
    const file = join(workspace.root, "without.json");
    writeFileSync(file, JSON.stringify(state));
    expect((await workspace.pulumi("stack", "import", "--file", file)).code).toBe(0);
    const started = await mustRun("docker", [
      "inspect",
      "--format",
      "{{.State.StartedAt}}",
      container(),
    ]);
    const upgraded = await up(images.old);
    expect(upgraded.steps.map(({ op, name }) => `${op} ${name}`)).toEqual([
      "create dgx-chat-ui-data-copy",
    ]);
    expect(
      await mustRun("docker", ["inspect", "--format", "{{.State.StartedAt}}", container()]),
    ).toBe(started);
    expect(names()).toEqual([]);
  });

  it("are made before another image takes the data, with owners and modes", async () => {
    const changed = await up(images.newer);
    expect(changed, changed.stdout + changed.stderr).toMatchObject({ code: 0 });
    expect(await answers()).toBe("0.12.4");
    const [name = "", ...more] = names();
    expect(more).toEqual([]);
    expect(about(name)).toMatchObject({
      why: "update",
      image: images.old.reference,
      revision: "0.11.3",
    });
    const tar = join(copies(), name, "data.tar");
    expect(statSync(tar).mode & 0o777).toBe(0o600);
    const listed = await mustRun("tar", ["--numeric-owner", "-tvf", tar]);
    expect(listed).toMatch(/^-rw-r----- 1000\/1001 +5 .* \.\/uploads\/talk$/m);
    expect(await mustRun("tar", ["-xOf", tar, "./webui.db"])).toBe("0.11.3");
    expect(changed.stdout + changed.stderr).toContain(`are copied to ${join(copies(), name)}`);
  });

  it("are put back on the way back, before the old image comes, once", async () => {
    const file = join(workspace.root, "Pulumi.old.yaml");
    writeStackFile(file, configOf(images.old));
    const home = process.env.HOME;
    process.env.HOME = workspace.home;
    const machine = readStack(file).plan.machines[0];
    process.env.HOME = home;
    if (machine === undefined) throw new Error("no machine");
    const [copy] = names();
    const did = await putBackMigrated(machine, "chat-ui");
    expect(did).toMatchObject({ did: "put-back", copy, missing: { from: about(copy ?? "").at } });
    expect(await putBackMigrated(machine, "chat-ui")).toMatchObject({
      ...{ did: "put-back", copy, kept: did.kept },
    });
    const back = await up(images.old);
    expect(back, back.stdout + back.stderr).toMatchObject({ code: 0 });
    expect(await answers()).toBe("0.11.3");
    expect(names()).toEqual([copy, did.kept]);
    expect(about(did.kept ?? "")).toMatchObject({
      image: images.newer.reference,
      revision: "0.12.4",
    });
    const talk = [
      "exec",
      container(),
      "node",
      "-p",
      "JSON.stringify((({uid,gid,mode})=>[uid,gid,mode&0o777])(fs.statSync('/app/backend/data/uploads/talk')))",
    ];
    expect(JSON.parse(await mustRun("docker", talk))).toEqual([1000, 1001, 0o640]);
  });

  it("need room: without it the update fails, and the old container goes on answering", async () => {
    const bin = join(workspace.root, "bin");
    mkdirSync(bin);
    const said = '#!/bin/sh\nprintf "Filesystem\\n/dev/sda 1000 900 100 90%% /\\n"\n';
    writeFileSync(join(bin, "df"), said, { mode: 0o755 });
    const { PATH } = workspace.env;
    Object.assign(workspace.env, { PATH: `${bin}:${PATH}` });
    const refused = await up(images.newer);
    Object.assign(workspace.env, { PATH });
    expect(refused.code).not.toBe(0);
    expect(refused.stdout + refused.stderr).toContain(
      `The disk of ${copies()} has 1 MiB free, and a copy of the data of chat-ui needs 65 MiB: make room there`,
    );
    expect(await answers()).toBe("0.11.3");
    expect(names().length).toBe(2);
    rmSync(bin, { recursive: true });
  });

  it("are three after four changes", async () => {
    const first = names();
    for (const image of [images.newer, images.old, images.newer]) {
      // The older one stays down on newer data, which are copied all the same.
      await up(image);
    }
    expect(names().length).toBe(3);
    expect(names().filter((name) => first.includes(name))).toEqual([]);
    expect(await answers()).toBe("0.12.4");
  });

  it("stay when the stack goes", async () => {
    const gone = await workspace.destroy();
    expect(gone.code).toBe(0);
    expect(names().length).toBe(3);
  });
});
