import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { IS_ROOT } from "../../host/hostFileRun";
import { FakeVolume, ID, migrated, OLD } from "./fakeVolume";

/** What a program may leave in its volume, as it is made there. */
const KINDS: Readonly<Record<string, string>> = {
  "a link that leads out of the volume": "ln -s ../../../etc/passwd out",
  "one from a folder further down": "mkdir -p a/b; ln -s ../../../outside a/b/out",
  "one to the volume's parent": "ln -s .. parent",
  "an absolute link": "ln -s /etc/passwd absolute",
  "a link to nowhere": "ln -s nowhere dangling",
  "a link to itself": "ln -s loop loop",
  "a link to a folder, with a link through it": "mkdir d; ln -s d through; ln -s through/x file",
  "a link whose target is longer than a tar's field": `ln -s ${"../".repeat(60)}x long-target`,
  "links of odd names": "ln -s -- -x -l; ln -s 'a\nb' 'c\nd'",
  "two names of one file, and a third below": "echo 1 >one; ln one two; mkdir e; ln one e/three",
  "two names of one link": "ln -s ../../x link; ln link link2",
  "a FIFO": "mkfifo fifo",
  "a name that begins with a dash": "echo 1 >./-rf; mkdir -- --help",
  "a name with a line break, and one that ends in it": "echo 1 >'a\nb'; echo 1 >'end\n'",
  "a name with blanks, quotes, a backslash and a star": `echo 1 >' "\\*'\\'' '`,
  "hidden names, and those that look like a parent": "echo 1 >.hidden; mkdir ..more; echo 1 >...",
  "a name that is no UTF-8, and a long one": `echo 1 >"$(printf 'caf\\351')"; echo 1 >"$(printf 'x%.0s' $(seq 150))$(printf '\\351')"`,
  "a name as long as a file system takes": `echo 1 >${"n".repeat(255)}`,
  "a path of more than 255 bytes":
    `mkdir -p ${"p".repeat(200)}/${"q".repeat(200)}; ` +
    `echo 1 >${"p".repeat(200)}/${"q".repeat(200)}/${"r".repeat(200)}`,
  "a sparse file": "truncate -s 8M sparse; echo 1 >>sparse",
  "an empty file and an empty folder": ": >empty; mkdir none",
  "setuid, setgid and sticky bits":
    "echo 1 >suid; chmod 6755 suid; mkdir bits; chmod 3770 bits; echo 1 >t; chmod 1644 t",
  "a file and a folder without rights":
    "echo 1 >closed; chmod 0 closed; mkdir shut; echo 1 >shut/x; chmod 0 shut",
  "a time to the nanosecond, and one before 1970":
    "touch -d '2026-01-02 03:04:05.123456789' t1; touch -d '1960-01-01' t2",
  "the names of our own files": "mkdir data.tar copy.json; echo 1 >.unfinished",
};

/** What only root may make. */
const KINDS_OF_ROOT: Readonly<Record<string, string>> = {
  "a device": "mknod null c 1 3",
  "owners that no user has": "echo 1 >theirs; chown 12345:54321 theirs; chown -h 12345 dangling",
};

const inVolume = ({ volume }: FakeVolume, script: string) => {
  const { status, stdout, stderr } = spawnSync("sh", ["-euc", script], {
    cwd: volume,
    encoding: "latin1",
    env: { PATH: process.env.PATH, LC_ALL: "C" },
  });
  if (status !== 0) throw new Error(stderr);
  return stdout;
};

/** Each path with its type, rights, owner, links, size on the disk, time, target and content. */
const inventoryOf = (volume: FakeVolume) =>
  inVolume(
    volume,
    `find . ! -path . -printf '%P %y %m %U:%G %n %s %b %T@ %l\\n' | sort
find . -type f -exec sha256sum {} + | sort; stat -c '%a %u:%g' .`,
  ).split("\n");

/** Makes a copy, loses the data, and puts the copy back. */
async function lostAndPutBack(volume: FakeVolume) {
  const made = await volume.run(["make"]);
  const [copy = ""] = volume.names();
  inVolume(volume, "find . -mindepth 1 -delete; echo other >other; chmod 00700 .");
  const back = await volume.run(["put-back", copy, "yes"]);
  return [made.code, back.code, back.err];
}

describe.skipIf(!IS_ROOT)("a copy of everything that a volume may hold", () => {
  it("is put back as it was", async () => {
    const volume = new FakeVolume();
    const kinds = { ...KINDS, ...KINDS_OF_ROOT };
    for (const script of Object.values(kinds)) inVolume(volume, script);
    inVolume(volume, "chmod 2770 .");
    const before = inventoryOf(volume);
    const done = [0, 0, "Stopping the container of chat-ui ...\n"];
    expect(await lostAndPutBack(volume)).toEqual(done);
    expect(inventoryOf(volume)).toEqual(before);
    // Into a folder whose setgid bit is inherited, too.
    inVolume(volume, "chmod 2755 .");
    expect((await volume.run(["put-back", volume.names()[0] ?? "", "yes"])).code).toBe(0);
    expect(inventoryOf(volume)).toEqual(before);
  });

  it("has the attributes of its files", async () => {
    const volume = new FakeVolume();
    const python = (text: string) => inVolume(volume, `python3 -c '${text}'`);
    const kept =
      'import os\ntry: os.setxattr("webui.db", "user.note", b"mine")\nexcept OSError: print("none here")';
    // tmpfs may have none.
    if (python(kept) !== "") return;
    expect(await lostAndPutBack(volume)).toEqual([0, 0, expect.any(String)]);
    expect(python('import os; print(os.getxattr("webui.db", "user.note"))')).toBe("b'mine'\n");
  });

  it("leaves out a socket alone, which has no data", async () => {
    const volume = new FakeVolume();
    const before = inventoryOf(volume);
    inVolume(volume, "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'");
    expect(await lostAndPutBack(volume)).toEqual([0, 0, expect.any(String)]);
    expect(inventoryOf(volume)).toEqual(before);
  });
});

describe("a copy of an earlier version, which Docker has packed", () => {
  it("is put back with its links", async () => {
    const volume = new FakeVolume();
    inVolume(
      volume,
      "ln -s ../../../etc/passwd out; mkdir a; ln -s ../../x a/out; echo 1 >one; ln one two",
    );
    await volume.run(["make"]);
    const [name = ""] = volume.names();
    const before = inventoryOf(volume);
    // As Go writes it: PAX, whole seconds, no names of users.
    const tar = spawnSync(
      "tar",
      ["-c", "--format=pax", "--numeric-owner", "-f", "-", "-C", volume.volume, "."],
      { maxBuffer: 1e8 },
    ).stdout;
    writeFileSync(join(volume.copies, name, "data.tar"), tar);
    const hash = spawnSync("sha256sum", { input: tar, encoding: "utf8" }).stdout.slice(0, 64);
    const about = { ...volume.about(name), sha256: hash };
    writeFileSync(join(volume.copies, name, "copy.json"), `${JSON.stringify(about)}\n`);
    inVolume(volume, "find . -mindepth 1 -delete");
    expect((await volume.run(["put-back", name, "yes"])).code).toBe(0);
    expect(inventoryOf(volume)).toEqual(before);
  });
});

/** A `tar` that packs, and says this of it. */
const saying = (words: string, code: number) =>
  `#!/bin/sh\n/usr/bin/tar "$@"\nif [ "$1" = -c ]; then echo 'tar: ${words}' >&2; exit ${code}; fi\n`;
const ENDS = "\ntar: Exiting with failure status due to previous errors";
const TRY = "check Docker and the room on that disk, and try again";
const OTHERS = "end what else writes to the volume net-chat-ui-data, and try again";

describe("data that can't be copied as a whole are no copy", () => {
  const refused = async (volume: FakeVolume) => {
    const before = volume.data();
    const { code, err } = await volume.run(["make"]);
    expect([code, volume.names(), volume.running]).toEqual([1, [], true]);
    expect(readdirSync(volume.copies)).toEqual([]);
    expect(volume.data()).toEqual(before);
    return err.replace("Stopping the container of chat-ui ...\n", "");
  };
  const cannot = ({ copies }: FakeVolume, why: string, advice: string) =>
    `The data of chat-ui can't be copied to ${copies} (${why}): ${advice}. The data were not touched.\n`;

  it.each([
    ["./x: file changed as we read it", 1, OTHERS],
    ["./x: File removed before we read it", 1, OTHERS],
    ["./x: File shrank by 4096 bytes; padding with zeros", 1, OTHERS],
    [`./x: Cannot open: Permission denied${ENDS}`, 2, TRY],
    [`./x: Read error at byte 0, while reading 512 bytes: Input/output error${ENDS}`, 2, TRY],
    [`./x: Cannot open: No such file or directory${ENDS}`, 2, TRY],
  ])("where tar says `%s`", async (words, code, advice) => {
    const volume = new FakeVolume();
    const [first] = words.split("\n");
    writeFileSync(join(volume.folder, "bin/tar"), saying(words, code), { mode: 0o755 });
    expect(await refused(volume)).toBe(cannot(volume, `tar: ${first}`, advice));
  });

  it("where Docker loses the end of what tar wrote", async () => {
    const volume = new FakeVolume();
    volume.set({ lost: "" });
    const said = (await refused(volume)).replace(/of \d{5} bytes/, "of N bytes");
    expect(said).toBe(cannot(volume, "of N bytes 700 came", TRY));
  });

  it("where tar was ended without a word", async () => {
    const volume = new FakeVolume();
    const ended = '#!/bin/sh\nif [ "$1" = -c ]; then kill -9 $$; fi\nexec /usr/bin/tar "$@"\n';
    writeFileSync(join(volume.folder, "bin/tar"), ended, { mode: 0o755 });
    expect(await refused(volume)).toMatch(
      /can't be copied to .* \((Killed|docker run was ended)\)/,
    );
  });

  it("where a path is longer than tar can make again", async () => {
    const volume = new FakeVolume();
    const deep = (count: number) =>
      inVolume(
        volume,
        `rm -rf d*; python3 -c 'import os\nfor _ in range(${count}): os.mkdir("d" * 250); os.chdir("d" * 250)'`,
      );
    deep(17);
    expect(await volume.run(["make"])).toEqual({
      ...{ code: 1, out: "" },
      err: `Stopping the container of chat-ui ...\n${cannot(volume, "a path in it is longer than 4095 bytes", "shorten it")}`,
    });
    expect([volume.names(), volume.running]).toEqual([[], true]);
    // One folder less, and it is copied.
    deep(16);
    expect(await lostAndPutBack(volume)).toEqual([0, 0, expect.any(String)]);
    deep(0);
  });

  it("where the image has no tar: nothing was stopped", async () => {
    const volume = new FakeVolume();
    volume.set({ programs: "/nowhere" });
    expect(await refused(volume)).toBe(
      `The data of chat-ui can't be read by its image ${OLD} (it has no tar): check Docker, and that the image has \`sh\` and \`tar\`. The data were not touched.\n`,
    );
    expect(volume.asked()).not.toContain(`stop ${ID}`);
  });

  it("and an update ends there, with the old container running", async () => {
    const volume = new FakeVolume();
    writeFileSync(join(volume.folder, "bin/tar"), saying("./x: file changed as we read it", 1), {
      mode: 0o755,
    });
    expect((await volume.run(["before"])).code).toBe(1);
    expect([volume.names(), volume.running]).toEqual([[], true]);
  });
});

/** Names beside the copies that are somebody else's. */
const THEIRS = [
  ...["20261129T073407Z-notes", "20261129T073407Z-golden", "20261129T073407Z.partial"],
  ...["20261129T073407Z.bak", "20261129T073407Z~", "20261129T073407Z ", "20261129T073407Z\n"],
  ...["20261129T073407Z\n20261129T073408Z", "20261129t073407z", "20261129T073407z"],
  ...["20261129T073407", "20261129T0734Z", "120261129T073407Z", "x20261129T073407Z"],
  ...["20261129T073407Z_", "20261129T073407Z_0", "20261129T073407Z_1", "20261129T073407Z_02"],
  ...["20261129T073407Z_2x", "20261129T073407Z_golden", "20261129T073407Z_2_3"],
  ...["20261329T073407Z", "20260230T073407Z", "20261129T243407Z", "20261129T076007Z"],
  ...["00000000T000000Z", "2026-11-29T07:34:07Z", "1Tx9Z", '2T"\\Z', "-rf", "notes"],
];

describe("a name beside the copies that isn't one of ours", () => {
  const put = ({ copies }: FakeVolume, name: string, about: object) => {
    mkdirSync(join(copies, name), { recursive: true });
    writeFileSync(join(copies, name, "data.tar"), "theirs");
    writeFileSync(join(copies, name, "copy.json"), `${JSON.stringify(about)}\n`);
  };
  const listed = async (volume: FakeVolume) => {
    const { out } = await volume.run(["list"]);
    const lines = out.split("\n").filter(Boolean);
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  const said = (name: string) => name.replaceAll("\n", "?");

  it.each([
    [
      "a folder like a copy",
      (volume: FakeVolume, name: string) => put(volume, name, { image: OLD }),
    ],
    [
      "a folder with something else",
      ({ copies }: FakeVolume, name: string) => {
        mkdirSync(join(copies, name));
        writeFileSync(join(copies, name, "mine"), "");
      },
    ],
    ["an empty folder", ({ copies }: FakeVolume, name: string) => mkdirSync(join(copies, name))],
    ["a file", ({ copies }: FakeVolume, name: string) => writeFileSync(join(copies, name), "")],
    [
      "a link",
      ({ copies }: FakeVolume, name: string) => symlinkSync("nowhere", join(copies, name)),
    ],
  ])("%s: is left, named, and neither put back nor counted", async (_, make) => {
    const volume = new FakeVolume();
    mkdirSync(volume.copies, { recursive: true });
    for (const name of THEIRS) make(volume, name);
    const all = readdirSync(volume.copies, { recursive: true, encoding: "utf8" }).sort();
    for (const _ of [1, 2, 3, 4]) expect((await volume.run(["make"])).code).toBe(0);
    const answers = await listed(volume);
    const ours = answers.flatMap(({ copy }) => (copy === undefined ? [] : [String(copy)]));
    expect(ours.length).toBe(3);
    const others = answers.flatMap(({ other }) => (other === undefined ? [] : [String(other)]));
    expect(others.sort()).toEqual(THEIRS.map(said).sort());
    const left = readdirSync(volume.copies, { recursive: true, encoding: "utf8" });
    expect(left.filter((path) => !ours.includes(path.split("/")[0] ?? "")).sort()).toEqual(all);
    for (const name of ["20261129T073407Z-golden", "20261129T073407Z_1", "../chat-ui/notes"])
      expect((await volume.run(["put-back", name, "yes"])).err).toBe(
        `There is no copy ${name} in ${volume.copies}: \`serving restore chat-ui\` lists them. The data were not touched.\n`,
      );
  });

  it.each([
    ["without copy.json", "copy.json"],
    ["without data.tar", "data.tar"],
  ])("but a folder %s is none either", async (_, without) => {
    const volume = new FakeVolume();
    put(volume, "20200101T000000Z", { image: OLD });
    rmSync(join(volume.copies, "20200101T000000Z", without));
    const before = readdirSync(join(volume.copies, "20200101T000000Z"));
    for (const _ of [1, 2, 3, 4]) await volume.run(["make"]);
    expect(readdirSync(join(volume.copies, "20200101T000000Z"))).toEqual(before);
    expect(await listed(volume)).toContainEqual({ other: "20200101T000000Z" });
  });

  it("a link of our form is none: what it leads to stays, behind it too", async () => {
    const volume = new FakeVolume();
    put(volume, "../elsewhere", { image: OLD });
    symlinkSync("../elsewhere", join(volume.copies, "../20200101T000000Z"));
    mkdirSync(volume.copies);
    symlinkSync("../elsewhere", join(volume.copies, "20200101T000000Z"));
    for (const _ of [1, 2, 3, 4]) await volume.run(["make"]);
    expect(readdirSync(join(volume.copies, "20200101T000000Z"))).toEqual(["copy.json", "data.tar"]);
    expect(await listed(volume)).toContainEqual({ other: "20200101T000000Z" });
  });

  it.each(["20200101T000000Z", "20200229T235959Z", "20200101T000000Z_2", "20200101T000000Z_12"])(
    "%s is one of ours",
    async (name) => {
      const volume = new FakeVolume();
      put(volume, name, { image: OLD });
      expect(await listed(volume)).toContainEqual({ copy: name, about: { image: OLD } });
      for (const _ of [1, 2, 3]) await volume.run(["make"]);
      expect(volume.names().includes(name)).toBe(false);
    },
  );

  it("is not what an update goes back to, though made with that image", async () => {
    const { volume, copy, newer } = await migrated();
    put(volume, `${copy}-golden`, volume.about(copy));
    rmSync(join(volume.copies, copy), { recursive: true });
    const { out } = await volume.run(["back", OLD]);
    expect([out, volume.data()]).toEqual(['{"did": "no-copy"}\n', newer]);
  });

  it("is listed beside a copy whose description somebody has laid out in lines", async () => {
    const volume = new FakeVolume();
    put(volume, "20200101T000000Z", {});
    writeFileSync(
      join(volume.copies, "20200101T000000Z/copy.json"),
      JSON.stringify({ image: OLD }, null, 2),
    );
    expect(await listed(volume)).toContainEqual({
      copy: "20200101T000000Z",
      about: { image: OLD },
    });
  });
});
