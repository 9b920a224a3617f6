import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeVolume, ID, killedAt, migrated, NEW, OLD } from "./fakeVolume";

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
const NO_ROOM = '#!/bin/sh\nprintf "Filesystem\\n/dev/sda 1000 900 100 90%% /\\n"\n';

/** What every refusal before the container is stopped ends with. */
const UNTOUCHED = "The data were not touched.\n";

describe.concurrent("the copy before another image takes the data", () => {
  it.each<[string, (volume: FakeVolume) => string]>([
    [
      "there is no container",
      (volume) => {
        volume.set({ container: "" });
        return NEW;
      },
    ],
    ["its image is the planned one", () => OLD],
    [
      "its image has another name and is the planned one",
      (volume) => {
        volume.set({ same: "" });
        return NEW;
      },
    ],
  ])("does nothing where %s", async (_, given) => {
    const volume = new FakeVolume();
    const image = given(volume);
    expect(await volume.run(["before"], { image })).toEqual({ code: 0, out: "", err: "" });
    expect(existsSync(join(volume.folder, "state/dgx/copies"))).toBe(false);
    expect([volume.running, volume.asked().includes(`stop ${ID}`)]).toEqual([true, false]);
  });

  it("stops the container, and is one tar for its owner alone with what it is beside it", async () => {
    const volume = new FakeVolume();
    const before = volume.data();
    const { code, err } = await volume.run(["before"]);
    const [name = "", ...more] = volume.names();
    expect([code, more, volume.running]).toEqual([0, [], false]);
    expect(err).toBe(
      `Stopping the container of chat-ui ...\nThe data of chat-ui are copied to ${volume.copies}/${name} (1 MiB) before ${NEW} takes them.\n`,
    );
    const folder = join(volume.copies, name);
    expect([folder, volume.copies].map(mode)).toEqual(["700", "700"]);
    expect(["data.tar", "copy.json"].map((each) => mode(join(folder, each)))).toEqual([
      "600",
      "600",
    ]);
    expect(volume.about(name)).toEqual({
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      why: "update",
      image: OLD,
      revision: "old",
      bytes: statSync(join(folder, "data.tar")).size,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      volume: "net-chat-ui-data",
    });
    expect(volume.data()).toEqual(before);
  });

  it.each([
    ["See 'docker run --help'."],
    ["\nRun 'docker run --help' for more information"],
    ["failed to start containers: x"],
    ["tar: Exiting with failure status due to previous errors"],
  ])("says the reason of what ends with %j", async (end) => {
    const volume = new FakeVolume();
    volume.set({ refused: `docker: it is so.\n${end}` });
    expect(await volume.run(["before"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("(docker: it is so.)"),
    });
  });

  it("keeps the last three, and removes none before the new one is whole", async () => {
    const volume = new FakeVolume();
    for (const _ of [1, 2, 3]) await volume.run(["make"]);
    const three = volume.names();
    volume.set({ full: "" });
    expect((await volume.run(["make"])).code).toBe(1);
    expect(volume.names()).toEqual(three);
    rmSync(join(volume.folder, "full"));
    expect((await volume.run(["make"])).code).toBe(0);
    expect(volume.names()).toEqual([...three.slice(1), expect.any(String)]);
  });

  it("stays behind older ones whose names are of a clock that was ahead", async () => {
    const volume = new FakeVolume();
    for (const year of [2097, 2098, 2099]) {
      await volume.run(["make"]);
      const [made = ""] = volume.names().filter((name) => !/^209/.test(name));
      renameSync(join(volume.copies, made), join(volume.copies, `${year}0101T000000Z`));
    }
    const { code, err } = await volume.run(["before"]);
    const [made = "", ...others] = volume.names();
    expect([code, volume.about(made).why, others.length]).toEqual([0, "update", 3]);
    expect(err).toContain(`are copied to ${volume.copies}/${made} `);
  });

  it("refuses where the disk has no room, before it stops anything", async () => {
    const volume = new FakeVolume();
    writeFileSync(join(volume.folder, "bin/df"), NO_ROOM, { mode: 0o755 });
    const { code, err } = await volume.run(["before"]);
    expect([code, volume.running, volume.names()]).toEqual([1, true, []]);
    expect(err).toBe(
      `The disk of ${volume.copies} has 1 MiB free, and a copy of the data of chat-ui needs 65 MiB: make room there, or remove copies that you don't need, and try again. ${UNTOUCHED}`,
    );
    expect(volume.asked()).not.toContain(`stop ${ID}`);
  });

  it("starts the old container again where the disk is full in the middle", async () => {
    const volume = new FakeVolume();
    volume.set({ full: "" });
    const { code, err } = await volume.run(["before"]);
    expect([code, volume.running, volume.names()]).toEqual([1, true, []]);
    expect(err).toContain(
      `The data of chat-ui can't be copied to ${volume.copies} (write: no space left on device): check Docker and the room on that disk, and try again. ${UNTOUCHED}`,
    );
    expect(existsSync(join(volume.copies, ".unfinished"))).toBe(false);
  });

  it("refuses where Docker is away", async () => {
    const volume = new FakeVolume();
    volume.set({ away: "" });
    const { code, err } = await volume.run(["before"]);
    expect([code, err]).toEqual([
      1,
      `docker ps failed for the data of chat-ui (Cannot connect to the Docker daemon): \`docker info\` says whether Docker runs, then try again. ${UNTOUCHED}`,
    ]);
  });

  it("starts a container again whose update did not come", async () => {
    const volume = new FakeVolume();
    await volume.run(["before"]);
    const { code, err } = await volume.run(["before"], { image: OLD });
    expect([code, volume.running]).toEqual([0, true]);
    expect(err).toBe(
      "chat-ui was stopped for a copy before an update that did not come: it is started again.\n",
    );
  });

  it("leaves one stopped that was stopped", async () => {
    const volume = new FakeVolume();
    volume.set({ running: "false" });
    await volume.run(["make"]);
    expect([volume.names().length, volume.running]).toEqual([1, false]);
  });
});

describe.concurrent("putting a copy back", () => {
  it("replaces all of the data, keeps what was there, and starts the container", async () => {
    const { volume, copy, old } = await migrated();
    symlinkSync("nowhere", join(volume.volume, "..link"));
    const { code, out } = await volume.run(["put-back", copy, "yes"]);
    const { kept } = JSON.parse(out) as { kept: string };
    expect([code, volume.running, volume.data()]).toEqual([0, true, old]);
    expect(volume.about(kept)).toMatchObject({ why: "restore", image: NEW, revision: "new" });
    expect(volume.names()).toEqual([copy, kept]);
  });

  it("keeps more than three copies rather than lose one", async () => {
    const { volume, copy } = await migrated();
    for (const _ of [1, 2]) await volume.run(["make"]);
    await volume.run(["put-back", copy, "yes"]);
    expect(volume.names().length).toBe(4);
  });

  it("leaves the container stopped where its image doesn't take the data", async () => {
    const { volume, copy } = await migrated();
    await volume.run(["put-back", copy, "no"]);
    expect(volume.running).toBe(false);
  });

  it("refuses a damaged copy, and one that isn't there", async () => {
    const { volume, copy, newer } = await migrated();
    const tar = join(volume.copies, copy, "data.tar");
    writeFileSync(tar, readFileSync(tar).subarray(0, 700));
    const damaged = await volume.run(["put-back", copy, "yes"]);
    expect([damaged.code, damaged.err]).toEqual([
      1,
      `The copy ${copy} is damaged: ${tar} is not what was written. Take another one. ${UNTOUCHED}`,
    ]);
    const { err } = await volume.run(["put-back", "20200101T000000Z", "yes"]);
    expect(err).toContain("There is no copy 20200101T000000Z in ");
    expect([volume.running, volume.data()]).toEqual([true, newer]);
  });

  it("undoes itself where the volume takes no more", async () => {
    const { volume, copy, newer } = await migrated();
    const tar =
      "#!/bin/sh\ncase $1 in -xp) echo 'unexpected EOF' >&2; exit 2 ;; esac\nexec /usr/bin/tar \"$@\"\n";
    writeFileSync(join(volume.folder, "bin/tar"), tar, { mode: 0o755 });
    const { code, err } = await volume.run(["put-back", copy, "yes"]);
    expect([code, volume.running, volume.data()]).toEqual([1, true, newer]);
    expect(err).toContain(
      `The copy ${copy} can't be unpacked (unexpected EOF): check Docker and the room on its disk, and try again. The present data are still there.\n`,
    );
  });

  it("begins with what an earlier run left in the volume", async () => {
    const { volume, copy, old } = await migrated();
    mkdirSync(join(volume.volume, ".serving-done/old"), { recursive: true });
    await volume.run(["put-back", copy, "yes"]);
    expect(volume.data()).toEqual(old);
  });
});

describe.concurrent("the way back of an update", () => {
  const back = async (volume: FakeVolume) => {
    const { code, out } = await volume.run(["back", OLD]);
    expect(code).toBe(0);
    return JSON.parse(out) as Record<string, unknown>;
  };

  it("puts the old data back where the new version has migrated them, once", async () => {
    const { volume, copy, old } = await migrated();
    const did = await back(volume);
    expect(did).toMatchObject({ did: "put-back", copy, before: "old", revision: "new" });
    expect([volume.data(), volume.running]).toEqual([old, false]);
    expect(volume.about(`${did.kept}`)).toMatchObject({ image: NEW, revision: "new" });
    const { kept } = did;
    const again = { did: "put-back", copy, kept, before: "old", revision: "new" };
    expect(await back(volume)).toMatchObject({ ...again, until: volume.about(`${kept}`).at });
    const { err } = await volume.run(["before"], { image: OLD });
    expect(err).toBe(
      "The data of chat-ui were put back, and nothing has run on them since: no further copy is needed.\n",
    );
    expect(volume.names()).toEqual([copy, did.kept]);
  });

  it("leaves newer data that were not migrated", async () => {
    const { volume, copy, newer } = await migrated();
    volume.set({ "volume/revision": "old" });
    expect(await back(volume)).toMatchObject({ did: "not-migrated", copy });
    expect({ ...volume.data(), revision: newer.revision }).toEqual(newer);
    expect(volume.running).toBe(false);
  });

  it("leaves data whose revision nothing tells", async () => {
    const { volume, newer } = await migrated();
    volume.set({ "volume/revision": "" });
    expect(await back(volume)).toMatchObject({ did: "unknown" });
    expect(volume.names().length).toBe(1);
    expect(volume.data()["webui.db"]).toBe(newer["webui.db"]);
  });

  it("touches nothing without a copy of that image", async () => {
    const volume = new FakeVolume(NEW);
    expect(await back(volume)).toEqual({ did: "no-copy" });
    expect(volume.running).toBe(true);
  });

  it("has nothing to do where the old container is there, of which no copy was made", async () => {
    const volume = new FakeVolume();
    expect(await back(volume)).toEqual({ did: "same-image" });
    expect([volume.running, volume.asked().some((each) => /^(stop|create)/.test(each))]).toEqual([
      true,
      false,
    ]);
  });

  it("starts an old container that a killed run had stopped before it made the copy", async () => {
    const volume = new FakeVolume();
    await volume.run(["before"], { env: killedAt({ call: 8, when: "middle" }) });
    expect([volume.names(), volume.running]).toEqual([[], false]);
    expect(await back(volume)).toEqual({ did: "same-image" });
    expect(volume.running).toBe(true);
  });

  it("starts an old container that was only stopped for its copy", async () => {
    const volume = new FakeVolume();
    await volume.run(["before"]);
    expect(await back(volume)).toEqual({ did: "same-image" });
    expect(volume.running).toBe(true);
  });

  it("works where the container is gone", async () => {
    const { volume, old } = await migrated();
    volume.set({ container: "" });
    const did = await back(volume);
    expect(did).toMatchObject({ did: "put-back" });
    expect(volume.data()).toEqual(old);
    // It is not taken for one of the old image later.
    expect(volume.about(`${did.kept}`)).toMatchObject({ image: "", revision: "new" });
    volume.write("new");
    expect(await back(volume)).toMatchObject({ did: "put-back", before: "old" });
  });
});

describe.concurrent("a run that is killed", () => {
  it.each([
    { call: 8, when: "middle" as const },
    { call: 9, when: "after" as const },
  ])("leaves the data and no half copy: $when call $call of a copy", async (moment) => {
    const volume = new FakeVolume();
    const data = volume.data();
    const killed = await volume.run(["before"], { env: killedAt(moment) });
    expect([killed.code, volume.data(), volume.names()]).toEqual([null, data, []]);
    expect((await volume.run(["before"], { image: OLD })).code).toBe(0);
    expect([volume.running, volume.data()]).toEqual([true, data]);
    await volume.run(["before"]);
    expect([volume.names().length, volume.damaged()]).toEqual([1, []]);
  });

  // Half is unpacked; all is; all is swapped.
  it.each([
    { call: 10, when: "middle" as const },
    { call: 10, when: "after" as const },
    { call: 11, when: "after" as const },
  ])("is finished or begun anew: $when call $call of putting back", async (moment) => {
    const { volume, copy, old } = await migrated();
    const killed = await volume.run(["put-back", copy, "yes"], { env: killedAt(moment) });
    expect([killed.code, volume.running]).toEqual([null, false]);
    expect((await volume.run(["put-back", copy, "yes"])).code).toBe(0);
    expect([volume.data(), volume.running, volume.damaged()]).toEqual([old, true, []]);
    expect(volume.names().some((name) => volume.about(name).revision === "new")).toBe(true);
  });
});
