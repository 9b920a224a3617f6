import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, it, vi } from "vitest";
import { stringify } from "yaml";

import { putBackMigrated } from "../../../cli/copies/putBackMigrated";
import { startsAfter } from "../../../cli/copies/startsAfter";
import { afterDown } from "../../../cli/update/afterDown";
import { serverInput } from "../../fixtures/machine";
import { BRIDGE, planned } from "../../fixtures/services";
import { FakeSsh } from "../../layers/fakeSsh";
import { FakeVolume, ID, migrated, NEW, OLD } from "../../machines/copies/fakeVolume";
import { runServing } from "../runServing";

/** Writes a stack file of a machine whose chat UI has this volume. */
function stackFile({ folder }: FakeVolume, machine: Record<string, unknown> = {}): string {
  const file = join(folder, "Pulumi.dgx.yaml");
  const dgx = {
    totalGiB: 121.63,
    instanceA: { gpuMemoryUtilization: 0.4 },
    inferenceServers: { b: serverInput() },
    bridge: BRIDGE,
    chatUi: { image: NEW },
    stateDirectory: join(folder, "state"),
    ...machine,
  };
  writeFileSync(file, stringify({ config: { "local-serving:machines": { dgx } } }));
  return file;
}

async function serving(
  volume: FakeVolume,
  args: readonly string[],
  machine: Record<string, unknown> = {},
) {
  const { folder } = volume;
  const file = stackFile(volume, machine);
  writeFileSync(join(folder, "asked"), "");
  const ssh = new FakeSsh();
  mkdirSync(join(folder, "state/dgx"), { recursive: true });
  writeFileSync(join(folder, "state/dgx/applied-plan.json"), "{}");
  const env = {
    PATH: `${join(folder, "bin")}:${ssh.folder}:${process.env.PATH}`,
    HOME: folder,
  };
  const { code, out, err } = await runServing([...args, "--file", file], env);
  const plain = (text: string) => text.replaceAll(` --file ${file}`, "").replaceAll(folder, "HERE");
  return { code, out: plain(out), err: plain(err), ssh: ssh.asked() };
}

const FOLDER = "HERE/state/dgx/copies/chat-ui";

describe("serving backup", () => {
  it("copies the data now, and says where they are and what puts them back", async () => {
    const volume = new FakeVolume();
    const { code, out } = await serving(volume, ["backup", "chat-ui"]);
    const [name = ""] = volume.names();
    expect([code, volume.running]).toEqual([0, true]);
    expect(out.replace(/ chat-ui was stopped for \d+ s\./, "")).toBe(
      `The data of chat-ui are copied to ${FOLDER}/${name} on dgx.\n\`serving restore chat-ui ${name}\` puts them back.\n`,
    );
    const json = await serving(volume, ["backup", "chatUi", "--format", "json"]);
    expect(JSON.parse(json.out)).toEqual({
      version: 1,
      backup: {
        machine: "dgx",
        service: "chat-ui",
        copy: volume.names()[1],
        folder: FOLDER,
        goneSeconds: expect.any(Number),
      },
    });
  });

  it.each([
    ["bridge", "bridge keeps no data to copy: name chat-ui.\n"],
    ["b", "b keeps no data to copy: name chat-ui.\n"],
  ])("refuses %s, which has no data", async (name, said) => {
    const volume = new FakeVolume();
    const { code, err } = await serving(volume, ["backup", name]);
    expect([code, err, volume.asked()]).toEqual([2, said, []]);
  });

  it("and `restore` name in their help what has data, and nothing else", async () => {
    for (const word of ["backup", "restore"]) {
      const { out } = await serving(new FakeVolume(), [word, "--help"]);
      expect(out).toMatch(/^ {2}name +service whose data are copied: chat-ui$/m);
    }
  });

  it("runs on the machine over ssh", async () => {
    const volume = new FakeVolume();
    const there = { dockerHost: "ssh://me@dgx", home: volume.folder };
    const { code, ssh } = await serving(volume, ["backup", "chat-ui"], there);
    expect([code, volume.names().length, volume.running]).toEqual([0, 1, true]);
    expect(ssh.length).toBeGreaterThan(0);
    expect(ssh.filter((line) => !line.startsWith("ssh://me@dgx "))).toEqual([]);
  });
});

describe("serving down", () => {
  it("says where copies lie, and nothing where there are none", async () => {
    const volume = new FakeVolume();
    const said: string[] = [];
    const spy = vi.spyOn(process.stderr, "write").mockImplementation((text) => {
      // What else `down` keeps is said behind it.
      said.push(
        ...String(text)
          .split(/(?<=\n)/)
          .filter((line) => line.startsWith("The data ")),
      );
      return true;
    });
    vi.stubEnv("PATH", `${join(volume.folder, "bin")}:${process.env.PATH}`);
    try {
      const file = stackFile(volume);
      await afterDown({ file });
      expect(said).toEqual([]);
      await volume.run(["make"]);
      await afterDown({ file });
      writeFileSync(file, "config: {}\nunknown: 1\n");
      await afterDown({ file });
    } finally {
      spy.mockRestore();
      vi.unstubAllEnvs();
    }
    expect(said).toEqual([
      `The data of chat-ui stay in the volume local-serving-chat-ui-data, and a copy of them in ${volume.copies} on dgx.\n`,
    ]);
  });
});

describe("serving restore", () => {
  it("lists the copies, the newest first", async () => {
    const { volume, copy } = await migrated();
    await volume.run(["make"]);
    const { code, out } = await serving(volume, ["restore", "chat-ui"]);
    const [, newest = ""] = volume.names();
    expect([code, out.split("\n")]).toEqual([
      0,
      [
        `Copies of the data of chat-ui in ${FOLDER} on dgx`,
        expect.stringMatching(/^ {2}copy +made by +version +revision +size$/),
        expect.stringMatching(new RegExp(`^  ${newest} +serving backup +0\\.12\\.4 +new +1 MiB$`)),
        expect.stringMatching(new RegExp(`^  ${copy} +an update +0\\.11\\.3 +old +1 MiB$`)),
        "`serving restore chat-ui COPY` puts one back.",
        "",
      ],
    ]);
  });

  it("says that there is none", async () => {
    const { code, out } = await serving(new FakeVolume(), ["restore", "chat-ui"]);
    expect([code, out]).toEqual([
      0,
      "There is no copy of the data of chat-ui yet: `serving backup chat-ui` makes one.\n",
    ]);
  });

  it("puts one back, says what is not in it, and leaves an older image's container alone", async () => {
    const { volume, old } = await migrated();
    await volume.run(["make"]);
    const [first = "", second = ""] = volume.names();
    const { at } = volume.about(first);
    const { code, out, err } = await serving(volume, ["restore", "chat-ui", first, "--yes"]);
    const [, , kept = ""] = volume.names();
    expect([code, volume.data(), volume.running]).toEqual([0, old, true]);
    const note = "Its image is 0.12.4, which migrates data of 0.11.3.";
    expect(err).toBe(
      `This stops chat-ui, keeps its present data as another copy, and replaces all of them with ${first} (1 MiB).\nThat copy lacks what was written since ${at}.\n${note}\n`,
    );
    expect(out).toBe(
      `chat-ui has its data of ${at} again.\nThe data from before are kept: \`serving restore chat-ui ${kept}\` puts them back.\n${note}\n`,
    );
    volume.set({ image: OLD, container: ID });
    const back = await serving(volume, [
      ...["restore", "chat-ui", second, "--yes", "--format", "json"],
    ]);
    expect([back.code, volume.running]).toEqual([0, false]);
    expect(JSON.parse(back.out)).toEqual({
      version: 1,
      restored: {
        machine: "dgx",
        service: "chat-ui",
        copy: expect.objectContaining({ copy: second, version: "0.12.4", revision: "new" }),
        kept: volume.names()[3],
        started: false,
      },
    });
  });

  it("asks nobody where nobody answers, and changes nothing", async () => {
    const { volume, copy, newer } = await migrated();
    const { code, err } = await serving(volume, ["restore", "chat-ui", copy]);
    expect([code, volume.data(), volume.running]).toEqual([2, newer, true]);
    expect(err).toContain("Without a terminal nobody can say yes: add --yes.\n");
  });

  it.each([
    ["y", 0, "older", /^chat-ui has its data of /],
    ["n", 1, "newer", /^Nothing was changed\.\n$/],
    ["", 1, "newer", /^Nothing was changed\.\n$/],
  ])("asks at a terminal, and takes only yes for yes: `%s`", async (answer, exit, data, said) => {
    const { volume, copy, old, newer } = await migrated();
    const terminal = Object.assign(Readable.from([`${answer}\n`]), { isTTY: true });
    const { stdin } = process;
    Object.defineProperty(process, "stdin", { configurable: true, value: terminal });
    const { code, out, err } = await serving(volume, ["restore", "chat-ui", copy]);
    Object.defineProperty(process, "stdin", { configurable: true, value: stdin });
    expect([code, volume.data()]).toEqual([exit, data === "older" ? old : newer]);
    expect(out).toMatch(said);
    expect(err).toContain("Put it back? [y/N] ");
  });

  it("names what lies beside the copies, and says how one that was set aside comes back", async () => {
    const volume = new FakeVolume();
    await volume.run(["make"]);
    const [name = ""] = volume.names();
    const aside = join(volume.copies, `${name}-golden`);
    renameSync(join(volume.copies, name), aside);
    mkdirSync(join(volume.copies, "notes"));
    const left = `Not copies of ours, and left alone: ${name}-golden, notes.\n`;
    expect((await serving(volume, ["restore", "chat-ui"])).out).toBe(
      `There is no copy of the data of chat-ui yet: \`serving backup chat-ui\` makes one.\n${left}`,
    );
    const args = ["restore", "chat-ui", `${name}-golden`, "--yes"];
    const { code, err } = await serving(volume, args);
    expect([code, err]).toEqual([
      2,
      `${FOLDER}/${name}-golden isn't named as a copy is, or isn't whole. If you have set it aside, give it back its name, such as 20261129T073407Z: \`serving restore chat-ui\` lists it then.\n`,
    ]);
    renameSync(aside, join(volume.copies, name));
    const { out } = await serving(volume, ["restore", "chat-ui"]);
    expect(out).toContain(`\n  ${name} `);
    expect(out).toContain("\nNot copies of ours, and left alone: notes.\n");
    const json = await serving(volume, ["restore", "chat-ui", "--format", "json"]);
    expect(JSON.parse(json.out)).toMatchObject({ copies: [{ copy: name }], others: ["notes"] });
    expect((await serving(volume, ["restore", "chat-ui", name, "--yes"])).code).toBe(0);
  });

  it("refuses a name that no copy has, and says what Docker says", async () => {
    const volume = new FakeVolume();
    const unknown = await serving(volume, ["restore", "chat-ui", "x"]);
    expect([unknown.code, unknown.err]).toEqual([
      2,
      "There is no copy x of the data of chat-ui: `serving restore chat-ui` lists them.\n",
    ]);
    volume.set({ away: "" });
    const away = await serving(volume, ["restore", "chat-ui"]);
    expect(away.code).toBe(1);
    expect(away.err).toMatch(/Cannot connect to the Docker daemon/);
  });
});

describe("whether a container starts on a copy", () => {
  const copy = {
    copy: "c",
    at: "",
    why: "",
    image: NEW,
    version: "0.12.4",
    revision: "r",
    bytes: 1,
  };
  it.each([
    [NEW, { starts: true, note: "" }],
    ["", { starts: true, note: "" }],
    ["mirror/open-webui:v0.12.4", { starts: true, note: "" }],
    [
      "open-webui:v0.13.0",
      { starts: true, note: "Its image is 0.13.0, which migrates data of 0.12.4." },
    ],
    [
      OLD,
      {
        starts: false,
        note: "It stays stopped, since its image is 0.11.3, older than the data (0.12.4), and may not accept them: put another image into the stack file and run `serving up`, or `serving start chat-ui`.",
      },
    ],
    [
      "open-webui:main",
      {
        starts: false,
        note: `It stays stopped, since it is not known whether open-webui:main accepts data of ${NEW}: put another image into the stack file and run \`serving up\`, or \`serving start chat-ui\`.`,
      },
    ],
  ])("with %s", (image, start) => {
    expect(startsAfter(copy, image, "chat-ui")).toEqual(start);
  });
});

describe("the way back, for who applies the old stack file", () => {
  const back = async (volume: FakeVolume, service = "chat-ui") => {
    const stateDirectory = join(volume.folder, "state");
    const machine = planned({ chatUi: { image: OLD }, stateDirectory });
    vi.stubEnv("PATH", `${join(volume.folder, "bin")}:${process.env.PATH}`);
    try {
      return await putBackMigrated(machine, service);
    } finally {
      vi.unstubAllEnvs();
    }
  };

  it("says which time is not in the data, and where the newer ones are", async () => {
    const { volume, copy } = await migrated();
    const did = await back(volume);
    const [, kept = ""] = volume.names();
    const { missing } = did;
    expect(did).toEqual({
      did: "put-back",
      copy,
      kept,
      missing: { from: volume.about(copy).at, to: expect.stringMatching(/^20.*Z$/) },
      sentence: `The newer version had migrated the data of chat-ui (old to new), so the copy ${copy} is put back: what was written from ${missing?.from} to ${missing?.to} is not in it. The newer data are kept: \`serving restore chat-ui ${kept}\`.`,
    });
    // The run that said it first may have been killed, in the second before that copy's.
    const { at: to } = volume.about(kept);
    expect(await back(volume)).toEqual({
      ...did,
      missing: { ...missing, to },
      sentence: did.sentence.replace(`to ${missing?.to} is`, `to ${to} is`),
    });
  });

  it("has nothing to do for a service without data, and without a copy", async () => {
    const nothing = { copy: null, kept: null, missing: null };
    const volume = new FakeVolume(NEW);
    expect(await back(volume, "bridge")).toEqual({ did: "no-data", ...nothing, sentence: "" });
    expect(await back(volume)).toEqual({
      did: "no-copy",
      ...nothing,
      sentence: `The data of chat-ui stay as they are: ${volume.copies} has no copy made with the image that is put back.`,
    });
  });
});
