import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { userInfo } from "node:os";
import { basename, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { freshFolder, IS_ROOT, NOBODY, run, snapshot, writeAsBefore } from "./hostFileRun";

let folder: string;
let at: string;
/**
 * The operator's own folder; where root runs the tests, the operator is nobody, who can't read
 * everything.
 */
const asOperator = IS_ROOT ? { asNobody: true } : {};
const operator = IS_ROOT ? "nobody" : userInfo().username;
beforeEach(() => {
  folder = freshFolder();
  at = join(folder, "settings.json");
  if (IS_ROOT) chownSync(folder, NOBODY, NOBODY);
});

const write = (content: string) => run("write", { path: at, content }, asOperator);
const restore = () => run("restore", { path: at }, asOperator);

/** A file that the operator may move and can't read. */
function unreadable(content: string, whose: string): void {
  rmSync(at, { force: true });
  writeFileSync(at, content);
  chmodSync(at, whose === "root's" ? 0o600 : 0);
  if (IS_ROOT && whose === "their own") chownSync(at, NOBODY, NOBODY);
}
const facts = (path: string) => {
  const { ino, mode, uid, gid } = lstatSync(path);
  return { ino, mode, uid, gid };
};

describe.each(IS_ROOT ? ["root's", "their own"] : ["their own"])(
  "a file that can't be read: %s",
  (whose) => {
    it("is kept at the first write, and comes back as it was", () => {
      unreadable("theirs\n", whose);
      const before = facts(at);
      expect(write("ours\n")).toEqual({
        status: 0,
        said: `${at} was there before: it is kept as ${folder}/.settings.json.local-serving/original until it is put back.\n${at} was written.`,
        refused: "",
      });
      expect(readFileSync(at, "utf8")).toBe("ours\n");
      expect(facts(join(folder, ".settings.json.local-serving/original"))).toEqual(before);
      expect(restore().said).toBe(`${at} was restored.`);
      expect(facts(at)).toEqual(before);
      expect(Object.keys(snapshot(folder))).toEqual(["settings.json"]);
    });

    it.each([
      ["an update", () => write("ours 2\n"), "was written."],
      ["the undo", restore, "was removed: nothing was there before."],
    ] as const)(
      "put in place of ours since is kept at %s, which goes on and says where",
      (_, go, end) => {
        write("ours\n");
        unreadable("theirs\n", whose);
        const before = facts(at);
        expect(go()).toEqual({
          status: 0,
          said: `${at} can't be read as user ${operator}, and may be edited: it is kept as ${at}.edited.\n${at} ${end}`,
          refused: "",
        });
        expect(facts(`${at}.edited`)).toEqual(before);
        restore();
        expect(Object.keys(snapshot(folder))).toEqual(["settings.json.edited"]);
        if (IS_ROOT) expect(readFileSync(`${at}.edited`, "utf8")).toBe("theirs\n");
      },
    );
  },
);

describe("another user's file", () => {
  it.runIf(IS_ROOT)("edited since, so that it is root's now, keeps its owner beside ours", () => {
    write("ours\n");
    writeFileSync(at, "theirs\n");
    chownSync(at, 0, 0);
    const before = facts(at);
    expect(write("ours 2\n").said).toContain(`the edited file is kept as ${at}.edited.`);
    expect([facts(`${at}.edited`), readFileSync(`${at}.edited`, "utf8")]).toEqual([
      before,
      "theirs\n",
    ]);
  });

  it.runIf(IS_ROOT)("that can't even be moved is refused, and nothing is left of the run", () => {
    chownSync(folder, 0, 0);
    chmodSync(folder, 0o1777);
    writeFileSync(at, "theirs\n", { mode: 0o600 });
    const before = snapshot(folder);
    expect(write("ours\n")).toEqual({
      status: 1,
      said: "",
      refused: `No right to write in ${folder} as user nobody. Nothing was changed.`,
    });
    expect(snapshot(folder)).toEqual(before);
  });

  it.runIf(IS_ROOT)(
    "whose record root made is refused by both words: what was there before would be lost",
    () => {
      writeFileSync(at, "theirs\n");
      run("write", { path: at, content: "ours\n" });
      const before = snapshot(folder);
      for (const ran of [write("ours 2\n"), restore()]) {
        expect(ran).toEqual({
          status: 1,
          said: "",
          refused: `${folder}/.settings.json.local-serving holds what was there before ${at}, and can't be read as user nobody. Nothing was changed: try as its owner (root).`,
        });
      }
      expect(snapshot(folder)).toEqual(before);
      run("restore", { path: at });
      expect(readFileSync(at, "utf8")).toBe("theirs\n");
    },
  );
});

describe("a name of theirs that looks like one of ours", () => {
  /** By the names of our unfinished files, in this version and in earlier ones. */
  const names = ["backup", "abcdef", "edited", "XXXXXX"];

  it.each(names)("is left alone by every run: .settings.json.local-serving.%s", (name) => {
    const file = join(folder, `.settings.json.local-serving.${name}`);
    const inside = join(folder, `a/.file.local-serving.${name}`);
    mkdirSync(inside, { recursive: true });
    writeFileSync(file, "theirs\n");
    writeFileSync(join(inside, "theirs"), "theirs\n");
    const before = snapshot(folder);
    for (const path of [at, join(folder, "a/file")]) {
      run("write", { path, content: "ours\n" });
      run("write", { path, content: "ours 2\n" });
      run("restore", { path });
      run("restore", { path });
      expect(snapshot(folder)).toEqual(before);
    }
  });

  it.each(
    ["backup", "abcdef", "before", "bak"].flatMap((end) => [
      [end, "a file that was there", "theirs\n"] as const,
      [end, "no file", undefined] as const,
    ]),
  )("is a copy of our record, `cp -a RECORD RECORD.%s`, over %s", (end, _, before) => {
    if (before !== undefined) writeFileSync(at, before, { mode: 0o600 });
    run("write", { path: at, content: "ours\n" });
    const copy = join(folder, `.settings.json.local-serving.${end}`);
    spawnSync("cp", ["-a", join(folder, ".settings.json.local-serving"), copy]);
    const copied = snapshot(copy);
    expect(Object.keys(copied).sort()).toEqual([
      ...(before === undefined ? ["absent", "holder"] : ["holder", "original"]),
      "written",
    ]);
    run("write", { path: at, content: "ours 2\n" });
    run("restore", { path: at });
    run("write", { path: at, content: "ours 3\n" });
    run("restore", { path: at });
    expect(snapshot(copy)).toEqual(copied);
    expect(readdirSync(folder)).toEqual(
      [basename(copy), ...(before === undefined ? [] : ["settings.json"])].sort(),
    );
  });

  it("is a copy of the record of a folder's file further up, which also stays", () => {
    const deep = join(folder, "a/b/file");
    const record = join(folder, "a/.b.local-serving");
    run("write", { path: join(folder, "a/b"), content: "ours\n" });
    spawnSync("cp", ["-a", record, `${record}.backup`]);
    run("restore", { path: join(folder, "a/b") });
    const copied = snapshot(`${record}.backup`);
    run("write", { path: deep, content: "ours\n" });
    run("restore", { path: deep });
    expect(snapshot(`${record}.backup`)).toEqual(copied);
  });

  it.each([
    ["content", true],
    ["record/holder", true],
    ["folder/.local-serving-made", true],
    ["", true],
    ["original", false],
    ["absent", false],
    [".notes", false],
    ["..notes", false],
    ["content 2", false],
  ])("is what a killed run has left only with nothing else in it: `%s`", (inside, isOurs) => {
    const left = join(folder, ".settings.json.local-serving.abcdef");
    mkdirSync(join(left, inside, ".."), { recursive: true });
    mkdirSync(left, { recursive: true });
    if (inside !== "") writeFileSync(join(left, inside), "text\n");
    chmodSync(left, 0o1700);
    run("restore", { path: at });
    expect(existsSync(left)).toBe(!isOurs);
    if (!isOurs) expect(readFileSync(join(left, inside), "utf8")).toBe("text\n");
  });

  it.each([
    ["a file", (record: string) => writeFileSync(record, "theirs\n")],
    ["an empty folder", (record: string) => mkdirSync(record)],
    ["a folder of theirs", (record: string) => file(record, "notes", "theirs\n")],
    ["a folder with a backup", (record: string) => file(record, "original", "theirs\n")],
    ["a folder with a mark", (record: string) => file(record, "absent", "")],
    [
      "a folder with a list",
      (record: string) => file(record, "written", "a letter\nto Ms. Holder\n"),
    ],
  ])("where the record would be, %s: set aside by a write, left alone by the undo", (_, make) => {
    const record = join(folder, ".settings.json.local-serving");
    make(record);
    writeFileSync(at, "theirs too\n");
    const before = snapshot(folder);
    expect(run("restore", { path: at }).said).toBe(`${at}: nothing of ours is there.`);
    expect(snapshot(folder)).toEqual(before);
    expect(run("write", { path: at, content: "ours\n" }).said).toBe(
      [
        `${record} was there and isn't ours: it is kept as ${record}.set-aside.`,
        `${at} was there before: it is kept as ${record}/original until it is put back.`,
        `${at} was written.`,
      ].join("\n"),
    );
    expect(run("restore", { path: at }).said).toBe(`${at} was restored.`);
    const moved = (name: string) =>
      name.replace(/^\.settings\.json\.local-serving/, "$&.set-aside");
    expect(snapshot(folder)).toEqual(
      Object.fromEntries(Object.entries(before).map(([name, fact]) => [moved(name), fact])),
    );
  });

  it("inside our record stays where it is, and is said", () => {
    run("write", { path: at, content: "ours\n" });
    const record = join(folder, ".settings.json.local-serving");
    writeFileSync(join(record, "notes"), "theirs\n");
    expect(run("restore", { path: at }).said).toBe(
      `${at} was removed: nothing was there before.\n${record} stays: it holds files that are not ours.`,
    );
    expect(readFileSync(join(record, "notes"), "utf8")).toBe("theirs\n");
  });

  it("is a mark of a folder that we made only where it is empty, as ours are", () => {
    writeFileSync(join(folder, ".local-serving-made"), "theirs\n");
    const before = snapshot(folder);
    run("write", { path: at, content: "ours\n" });
    run("restore", { path: at });
    expect(snapshot(folder)).toEqual(before);
  });
});

describe("what an earlier version wrote", () => {
  const restored = () => {
    run("restore", { path: at });
    return snapshot(folder);
  };

  it.each([
    ["with a file that was there", "theirs\n"],
    ["without one", undefined],
  ])("%s is restored", (_, before) => {
    writeAsBefore(at, { before, ours: "ours\n" });
    expect(restored()).toEqual(
      before === undefined ? {} : { "settings.json": expect.stringMatching(/theirs\n$/) },
    );
  });

  it.each([
    ["with a file that was there", "theirs\n"],
    ["without one", undefined],
  ])("%s is taken on by a write, and restored after it", (_, before) => {
    writeAsBefore(at, { before, ours: "ours\n" });
    expect(run("write", { path: at, content: "ours\n" }).said).toBe(`${at} is as it should be.`);
    expect(run("write", { path: at, content: "ours 2\n" }).said).toBe(`${at} was written.`);
    expect(restored()).toEqual(
      before === undefined ? {} : { "settings.json": expect.stringMatching(/theirs\n$/) },
    );
  });

  it("and lost its holder to an operator, or the hashes, is still known", () => {
    for (const part of ["holder", "written"]) {
      const path = join(folder, part);
      writeAsBefore(path, { before: "theirs\n", ours: "ours\n", without: part });
      run("restore", { path });
      expect(readFileSync(path, "utf8")).toBe("theirs\n");
    }
  });
});

/** A folder with one file. */
function file(in_: string, name: string, text: string): void {
  mkdirSync(in_);
  writeFileSync(join(in_, name), text);
}
