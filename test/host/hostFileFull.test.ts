import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { HOST_FILE_SCRIPT, hostFileRequest } from "../../components/host/hostFileRequest";
import { freshFolder, IS_ROOT, run, snapshot, URN } from "./hostFileRun";

let folder: string;
let at: string;
beforeEach(() => {
  folder = freshFolder();
  at = join(folder, "settings.json");
});

/** A file system of its own needs a mount, which only root makes, and not in every container. */
const canMount =
  IS_ROOT && spawnSync("unshare", ["-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).status === 0;

/** Runs the script on a disk of its own at the folder, and copies what is on it to $OUT. */
const ON_A_DISK = `
set -e
mount -t tmpfs -o size=1m,nr_inodes=1000 tmpfs "$DISK"
cp -a "$BEFORE/." "$DISK"
used() { df --output="$1" -B 4096 -- "$DISK" | tail -n 1; }
mount -o "remount,$(eval "echo $LIMITS")" "$DISK"
code=0
sh -c "$HOST_FILE_SCRIPT" host-file "$1" || code=$?
cp -a "$DISK/." "$OUT"
exit $code
`;

/**
 * Options of the mount, with what is free beyond what is used. A size of none would be no limit.
 */
const freeInodes = (count: number) => `nr_inodes=$(($(used iused) + ${count}))`;
const freePages = (count: number) => `size=$((($(used used) + ${count}) * 4096 + 1))`;

/**
 * What is on the disk, and what was said, after a run on a disk that holds what `folder` does and
 * has these limits.
 */
function onDisk(limits: string, word: "write" | "restore", path: string, content = "") {
  const [disk, out] = [freshFolder(), freshFolder()];
  const request = { path: path.replace(folder, disk), mode: "0644", holder: URN, content };
  const { status, stdout, stderr } = spawnSync(
    "unshare",
    ["-m", "sh", "-c", ON_A_DISK, "on-a-disk", word],
    {
      input: hostFileRequest(request),
      encoding: "utf8",
      env: {
        ...process.env,
        HOST_FILE_SCRIPT,
        DISK: disk,
        BEFORE: folder,
        OUT: out,
        LIMITS: limits,
      },
    },
  );
  const named = (text: string) => text.trim().replaceAll(disk, folder);
  return { status, said: named(stdout), refused: named(stderr), on: snapshot(out) };
}

function theirs(): void {
  writeFileSync(at, "theirs\n");
  chmodSync(at, 0o604);
}
function theirsThenOurs(): void {
  theirs();
  run("write", { path: at, content: "ours 1\n" });
}
function edited(): void {
  theirsThenOurs();
  writeFileSync(at, "edited\n");
}

describe.runIf(canMount)("a disk that is full", () => {
  const CONTENT = "x".repeat(9000);
  const states = [
    ["a first write over theirs", "settings.json", theirs],
    ["a first write into folders", "a/b/settings.json", () => undefined],
    ["an update of an edited file", "settings.json", edited],
  ] as const;

  it.each(states)(
    "%s: wherever the room ends, nothing changed, and one sentence says so",
    (_, name, make) => {
      make();
      const before = snapshot(folder);
      for (const limits of [freeInodes, freePages]) {
        let free = 0;
        for (; free < 20; free++) {
          const ran = onDisk(limits(free), "write", join(folder, name), CONTENT);
          if (ran.status === 0) {
            expect(ran.on[name]?.endsWith(CONTENT)).toBe(true);
            break;
          }
          expect([free, ran]).toEqual([
            free,
            {
              status: 1,
              said: "",
              refused: expect.stringMatching(
                /^The disk of .* is full\. Nothing was changed: make room and try again\.$/,
              ),
              on: before,
            },
          ]);
        }
        expect(free).toBeGreaterThan(1);
        expect(free).toBeLessThan(20);
      }
    },
  );

  it("keeps nobody from the undo", () => {
    edited();
    const { status, refused, on } = onDisk(`${freeInodes(0)},${freePages(0)}`, "restore", at);
    expect([status, refused]).toEqual([0, ""]);
    expect(on).toEqual({
      "settings.json": expect.stringMatching(/^604 \d+:\d+ theirs\n$/),
      "settings.json.edited": expect.stringMatching(/edited\n$/),
    });
  });

  it.each(["write", "restore"] as const)("and one that is read-only: %s says so", (word) => {
    theirsThenOurs();
    const before = snapshot(folder);
    expect(onDisk("ro", word, at, "ours 2\n")).toEqual({
      status: 1,
      said: "",
      refused: `${folder} is on a read-only file system. Nothing was changed.`,
      on: before,
    });
  });
});

describe("a step that fails", () => {
  it.each([
    [
      "No space left on device",
      () => `The disk of ${folder} is full. Nothing was changed: make room and try again.`,
    ],
    [
      "Disk quota exceeded",
      () =>
        `The disk quota of user ${spawnSync("id", ["-un"], { encoding: "utf8" }).stdout.trim()} for ${folder} is used up. Nothing was changed: make room and try again.`,
    ],
    [
      "Read-only file system",
      () => `${folder} is on a read-only file system. Nothing was changed.`,
    ],
    [
      "Input/output error",
      () => `Writing in ${folder} failed (Input/output error). Nothing was changed.`,
    ],
  ])("with %s is one sentence, and leaves all as it was", (words, sentence) => {
    const bin = join(freshFolder(), "bin");
    mkdirSync(bin);
    const env = { PATH: `${bin}:${process.env.PATH}` };
    theirs();
    const before = snapshot(folder);
    for (const program of ["mkdir", "cat", "mv", "chmod"]) {
      const real = spawnSync("sh", ["-c", `command -v ${program}`], {
        encoding: "utf8",
      }).stdout.trim();
      writeFileSync(
        join(bin, program),
        `#!/bin/sh\necho "${program}: 'x': ${words}" >&2\nexit 1\n`,
        { mode: 0o755 },
      );
      expect([program, run("write", { path: at, content: "ours\n" }, { env })]).toEqual([
        program,
        { status: 1, said: "", refused: sentence() },
      ]);
      expect(snapshot(folder)).toEqual(before);
      writeFileSync(join(bin, program), `#!/bin/sh\nexec ${real} "$@"\n`);
    }
  });

  it("that was ended by a limit is said, too", () => {
    theirs();
    const shell = ["sh", "-c", 'ulimit -f 1; exec sh "$@"', "sh"];
    const ran = run("write", { path: at, content: "x".repeat(200_000) }, { shell });
    expect(ran.status).toBe(1);
    expect(ran.refused).toMatch(/^Writing in .* failed \(.+\)\. Nothing was changed\.$/);
    expect(readFileSync(at, "utf8")).toBe("theirs\n");
    expect(Object.keys(snapshot(folder))).toEqual(["settings.json"]);
  });
});
