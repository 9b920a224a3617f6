import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  HOST_FILE_SCRIPT,
  hostFileCommand,
  hostFileRequest,
} from "../../components/host/hostFileRequest";
import { freshFolder, IS_ROOT, killedBefore, run, snapshot, URN } from "./hostFileRun";

let folder: string;
let at: string;
beforeEach(() => {
  folder = freshFolder();
  at = join(folder, "settings.json");
});

const RENAMED = `${URN}-renamed`;

describe("a file that was not there", () => {
  it("is written with its mode, and removed again with everything that came with it", () => {
    const deep = join(folder, "a/b/c.conf");
    expect(run("write", { path: deep, mode: "0640", content: "x = 1\n" })).toEqual({
      status: 0,
      said: `${deep} was written.`,
      refused: "",
    });
    expect(readFileSync(deep, "utf8")).toBe("x = 1\n");
    expect(statSync(deep).mode & 0o7777).toBe(0o640);
    expect(statSync(join(folder, "a")).mode & 0o7777).toBe(0o755);
    expect(run("restore", { path: deep }).said).toBe(
      `${deep} was removed: nothing was there before.`,
    );
    expect(snapshot(folder)).toEqual({});
  });

  it("keeps a secret's folder to its owner", () => {
    run("write", { path: join(folder, "secrets/token"), mode: "0600", content: "t" });
    expect(statSync(join(folder, "secrets")).mode & 0o7777).toBe(0o700);
  });

  it.each([
    "",
    "no newline at the end",
    "\n\npath: /etc/passwd\n\n",
    "ü %s \\n 'q' \"d\" $(id)\r\n",
    "x".repeat(300_000),
  ])("has exactly the content given: %#", (content) => {
    run("write", { path: at, content });
    expect(readFileSync(at, "utf8")).toBe(content);
  });

  it("leaves a folder that we made and somebody else uses, without our mark", () => {
    const path = join(folder, "a/b/c.conf");
    run("write", { path, content: "x" });
    writeFileSync(join(folder, "a/b/theirs"), "theirs");
    run("restore", { path });
    expect(Object.keys(snapshot(folder))).toEqual(["a/", "a/b/", "a/b/theirs"]);
  });

  it.each([
    ["first", "second"],
    ["second", "first"],
  ])("shares a folder that we made: it goes with the last of them (%s, then %s)", (one, two) => {
    for (const name of ["first", "second"])
      run("write", { path: join(folder, `a/${name}/file`), content: name });
    run("write", { path: join(folder, "a/file"), content: "x" });
    run("restore", { path: join(folder, "a/file") });
    run("restore", { path: join(folder, `a/${one}/file`) });
    expect(readFileSync(join(folder, `a/${two}/file`), "utf8")).toBe(two);
    run("restore", { path: join(folder, `a/${two}/file`) });
    expect(snapshot(folder)).toEqual({});
  });

  it("leaves a folder that was there and is empty afterwards", () => {
    mkdirSync(join(folder, "theirs"));
    const path = join(folder, "theirs/file");
    run("write", { path, content: "x" });
    run("restore", { path });
    expect(Object.keys(snapshot(folder))).toEqual(["theirs/"]);
  });
});

describe("a file that was there", () => {
  beforeEach(() => {
    writeFileSync(at, "theirs\n");
    chmodSync(at, 0o604);
    if (IS_ROOT) chownSync(at, 1234, 4321);
  });

  it("comes back as the same file: content, mode, owner, times, hard links", () => {
    utimesSync(at, 1_000_000_000, 1_000_000_000);
    linkSync(at, join(folder, "other-name"));
    const before = statSync(at);
    run("write", { path: at, content: "ours 1\n" });
    expect(readFileSync(at, "utf8")).toBe("ours 1\n");
    expect(readFileSync(join(folder, "other-name"), "utf8")).toBe("theirs\n");
    run("write", { path: at, content: "ours 2\n" });
    run("write", { path: at, content: "ours 1\n" });
    expect(run("restore", { path: at }).said).toBe(`${at} was restored.`);
    const after = statSync(at);
    expect([after.ino, after.mode, after.uid, after.gid, after.mtimeMs]).toEqual([
      before.ino,
      before.mode,
      before.uid,
      before.gid,
      before.mtimeMs,
    ]);
    expect(Object.keys(snapshot(folder))).toEqual(["other-name", "settings.json"]);
  });

  it("is not written again when nothing changed", () => {
    run("write", { path: at, content: "ours\n" });
    const before = statSync(at);
    expect(run("write", { path: at, content: "ours\n" }).said).toBe(`${at} is as it should be.`);
    expect([statSync(at).ino, statSync(at).mtimeMs]).toEqual([before.ino, before.mtimeMs]);
  });

  it("gets its mode back when somebody changed only that", () => {
    run("write", { path: at, mode: "0600", content: "ours\n" });
    chmodSync(at, 0o666);
    expect(run("write", { path: at, mode: "0600", content: "ours\n" }).said).toBe(
      `${at} was written.`,
    );
    expect(statSync(at).mode & 0o7777).toBe(0o600);
  });

  it("edited by somebody since is kept beside the new one at an update, and said so", () => {
    run("write", { path: at, content: "ours\n" });
    writeFileSync(at, "ours, and mine\n");
    expect(run("write", { path: at, content: "ours 2\n" }).said).toBe(
      `${at} was edited since we wrote it: the edited file is kept as ${at}.edited.\n${at} was written.`,
    );
    expect(readFileSync(at, "utf8")).toBe("ours 2\n");
    expect(readFileSync(`${at}.edited`, "utf8")).toBe("ours, and mine\n");
    run("restore", { path: at });
    expect(readFileSync(at, "utf8")).toBe("theirs\n");
  });

  it("edited by somebody since is kept beside the restored one, without covering an earlier one", () => {
    writeFileSync(`${at}.edited`, "from last year\n");
    run("write", { path: at, content: "ours\n" });
    writeFileSync(at, "edited\n");
    expect(run("restore", { path: at }).said).toBe(
      `${at} was edited since we wrote it: the edited file is kept as ${at}.edited-2.\n${at} was restored.`,
    );
    expect(readFileSync(at, "utf8")).toBe("theirs\n");
    expect(readFileSync(`${at}.edited`, "utf8")).toBe("from last year\n");
    expect(readFileSync(`${at}.edited-2`, "utf8")).toBe("edited\n");
  });

  it("replaced by a symbolic link or a folder since: what they put there is kept", () => {
    run("write", { path: at, content: "ours\n" });
    rmSync(at);
    symlinkSync("/etc/hostname", at);
    run("restore", { path: at });
    expect(snapshot(folder)).toEqual({
      "settings.json": expect.stringMatching(/theirs\n$/),
      "settings.json.edited": "link",
    });
  });

  it("removed by somebody since is written again, and restored at the end", () => {
    run("write", { path: at, content: "ours\n" });
    rmSync(at);
    expect(run("write", { path: at, content: "ours\n" }).said).toBe(`${at} was written.`);
    rmSync(at);
    run("restore", { path: at });
    expect(readFileSync(at, "utf8")).toBe("theirs\n");
  });

  it("is left alone by a second undo", () => {
    run("write", { path: at, content: "ours\n" });
    run("restore", { path: at });
    expect(run("restore", { path: at })).toEqual({
      status: 0,
      said: `${at}: nothing of ours is there.`,
      refused: "",
    });
    expect(readFileSync(at, "utf8")).toBe("theirs\n");
  });
});

describe("a resource that was renamed", () => {
  it("keeps the file: the new one is created first, and the old one's undo leaves it", () => {
    writeFileSync(at, "theirs\n");
    run("write", { path: at, content: "ours\n" });
    expect(run("write", { path: at, content: "ours\n", holder: RENAMED }).said).toBe(
      `${at} is as it should be.`,
    );
    expect(run("restore", { path: at }).said).toBe(`${at} stays: it belongs to ${RENAMED} by now.`);
    expect(readFileSync(at, "utf8")).toBe("ours\n");
    run("restore", { path: at, holder: RENAMED });
    expect(snapshot(folder)).toEqual({ "settings.json": expect.stringMatching(/theirs\n$/) });
  });

  it("is not another stack: two stacks on one machine don't take each other's files", () => {
    run("write", { path: at, content: "ours\n" });
    const other = URN.replace("dgx", "test");
    expect(run("write", { path: at, content: "b\n", holder: other })).toMatchObject({
      status: 1,
      refused: `${at} belongs to another stack (${URN}). Nothing was changed. If that stack is gone, remove ${folder}/.settings.json.local-serving/holder.`,
    });
    expect(readFileSync(at, "utf8")).toBe("ours\n");
    rmSync(join(folder, ".settings.json.local-serving/holder"));
    expect(run("write", { path: at, content: "b\n", holder: other }).status).toBe(0);
  });
});

describe("what is refused, with nothing changed", () => {
  it("a symbolic link at the path", () => {
    writeFileSync(join(folder, "real"), "theirs\n");
    symlinkSync("real", at);
    const before = snapshot(folder);
    expect(run("write", { path: at, content: "ours\n" })).toEqual({
      status: 1,
      said: "",
      refused: `${at} is a symbolic link to real. Nothing was changed: give the real path (readlink -f).`,
    });
    expect(snapshot(folder)).toEqual(before);
  });

  it("a symbolic link on the way, also at the undo", () => {
    mkdirSync(join(folder, "real/sub"), { recursive: true });
    symlinkSync("real", join(folder, "link"));
    const before = snapshot(folder);
    const path = join(folder, "link/sub/file");
    for (const word of ["write", "restore"] as const) {
      expect(run(word, { path }).refused).toContain(`${folder}/link is a symbolic link to real.`);
    }
    expect(snapshot(folder)).toEqual(before);
  });

  it("a dangling symbolic link, which would be written through", () => {
    symlinkSync("nowhere", at);
    expect(run("write", { path: at }).refused).toContain("is a symbolic link to nowhere");
    expect(existsSync(join(folder, "nowhere"))).toBe(false);
  });

  it("a folder at the path, and a file where a folder is needed", () => {
    mkdirSync(at);
    expect(run("write", { path: at }).refused).toBe(
      `${at} is not a regular file. Nothing was changed.`,
    );
    writeFileSync(join(folder, "file"), "theirs");
    expect(run("write", { path: join(folder, "file/sub/x") }).refused).toBe(
      `${folder}/file is not a folder. Nothing was changed.`,
    );
    expect(Object.keys(snapshot(folder))).toEqual(["file", "settings.json/"]);
  });

  it.runIf(IS_ROOT)("a folder that the user may not write in, and one that can't be made", () => {
    chmodSync(folder, 0o755);
    writeFileSync(at, "theirs\n");
    const before = snapshot(folder);
    expect(run("write", { path: at, content: "ours\n" }, { asNobody: true })).toEqual({
      status: 1,
      said: "",
      refused: `No right to write in ${folder} as user nobody. Nothing was changed.`,
    });
    expect(run("write", { path: join(folder, "a/b") }, { asNobody: true }).refused).toBe(
      `No right to make the folder ${folder}/a as user nobody. Nothing was changed.`,
    );
    expect(snapshot(folder)).toEqual(before);
  });

  it.runIf(IS_ROOT)("another user's file whose owner could not be restored", () => {
    chmodSync(folder, 0o777);
    writeFileSync(at, "root's\n");
    chmodSync(at, 0o644);
    const before = snapshot(folder);
    const ran = run("write", { path: at, content: "ours\n" }, { asNobody: true });
    // Where the kernel lets nobody link to it, its owner stays; where not, it is refused.
    if (ran.status === 0) run("restore", { path: at }, { asNobody: true });
    else
      expect(ran.refused).toContain("its owner could not be restored later. Nothing was changed.");
    expect(snapshot(folder)).toEqual(before);
  });

  it.each(["relative/path", "/a/../b", "/a//b", "/a/./b"])("the path %s", (path) => {
    const { status, refused } = (() => {
      try {
        return run("write", { path });
      } catch (error) {
        return { status: 1, refused: String(error) };
      }
    })();
    expect(status).toBe(1);
    expect(refused).toMatch(/expected an? (absolute|plain) path/);
  });

  it.each([
    [{ path: "/a\nmode: 0777" }, "path"],
    [{ path: "/folder/" }, "path"],
    [{ mode: "644" }, "mode"],
    [{ owner: "root; id" }, "owner"],
    [{ holder: "a\nb" }, "holder"],
  ])("a request that could be read in two ways: %j", (part, what) => {
    expect(() =>
      hostFileRequest({ path: "/a", mode: "0644", holder: "h", content: "", ...part }),
    ).toThrow(`A host file's ${what} is`);
  });
});

describe("a file's owner", () => {
  it.runIf(IS_ROOT)("is who writes it, or who the request names", () => {
    run("write", { path: at, owner: "nobody:nogroup", mode: "0600", content: "x" });
    expect([statSync(at).uid, statSync(at).gid]).toEqual([65534, 65534]);
  });
});

describe("the command", () => {
  it("is one short line, and root's where it is elevated", () => {
    expect(hostFileCommand("write")).toBe('sh -c "$HOST_FILE_SCRIPT" host-file write');
    expect(hostFileCommand("restore", ["sudo", "-n"])).toBe(
      'sudo -n sh -c "$HOST_FILE_SCRIPT" host-file restore',
    );
  });
});

describe("any order of what we do and what somebody else does", () => {
  const text = fc.string({ unit: fc.constantFrom(..."abc\n"), maxLength: 4 });
  const step = fc.oneof(
    fc.record({ we: fc.constant("write" as const), text, holder: fc.constantFrom(URN, RENAMED) }),
    fc.record({ we: fc.constant("restore" as const), holder: fc.constantFrom(URN, RENAMED) }),
    fc.record({ they: fc.constant("edit" as const), text }),
    fc.record({ they: fc.constant("remove" as const) }),
  );

  it("loses nothing that they wrote, and leaves nothing of ours at the end", () => {
    fc.assert(
      fc.property(
        fc.option(text, { nil: undefined }),
        fc.array(step, { maxLength: 6 }),
        (before, steps) => {
          const home = freshFolder();
          const path = join(home, "a/file");
          /** Texts of theirs that they have neither removed nor replaced themselves. */
          const theirs = new Set<string>();
          let current: string | undefined;
          const theyWrite = (content: string) => {
            if (current !== undefined) theirs.delete(current);
            current = `theirs ${theirs.size} ${content}`;
            theirs.add(current);
            mkdirSync(join(home, "a"), { recursive: true });
            writeFileSync(path, current);
          };
          if (before !== undefined) theyWrite(before);
          for (const each of steps) {
            if ("we" in each) {
              const content = "text" in each ? `ours ${each.text}` : "";
              expect(run(each.we, { path, content, holder: each.holder }).status).toBe(0);
              const now = existsSync(path) ? readFileSync(path, "utf8") : undefined;
              current = now?.startsWith("theirs") ? now : undefined;
            } else if (each.they === "edit") theyWrite(each.text);
            else {
              rmSync(path, { force: true });
              if (current !== undefined) theirs.delete(current);
              current = undefined;
            }
            const kept = Object.values(snapshot(home)).map((entry) =>
              entry.replace(/^\S+ \S+ /, ""),
            );
            for (const one of theirs) expect(kept).toContain(one);
          }
          for (const holder of [URN, RENAMED]) run("restore", { path, holder });
          const left = Object.entries(snapshot(home));
          expect(
            left.filter(
              ([name, entry]) => name.includes("local-serving") || entry.includes("ours"),
            ),
          ).toEqual([]);
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe("two runs at once", () => {
  /** A run that has begun to write and waits for the rest of its content. */
  async function halfWritten() {
    const child = spawn("sh", ["-c", HOST_FILE_SCRIPT, "host-file", "write"], { detached: true });
    child.stdin.write(hostFileRequest({ path: at, mode: "0644", holder: URN, content: "first" }));
    await vi.waitFor(() => expect(readdirSync(folder)).toHaveLength(1), { timeout: 30_000 });
    return child;
  }
  /** A second run; `ended` says which of the two ended first. */
  function second(word: "write" | "restore", ended: string[]) {
    const child = spawn("sh", ["-c", HOST_FILE_SCRIPT, "host-file", word]);
    child.stdin.end(hostFileRequest({ path: at, mode: "0644", holder: URN, content: "second" }));
    return new Promise<number | null>((resolve) =>
      child.on("close", (code) => {
        ended.push("second");
        resolve(code);
      }),
    );
  }

  it.each([
    ["write", "second"],
    ["restore", undefined],
  ] as const)("a write, then a %s: the second waits for the first", async (word, content) => {
    const ended: string[] = [];
    const first = await halfWritten();
    const firstEnd = new Promise((resolve) =>
      first.on("close", () => resolve(ended.push("first"))),
    );
    const end = second(word, ended);
    // The second has read its request once its flock runs.
    await vi.waitFor(() => expect(spawnSync("pgrep", ["-f", "flock -w 120 9"]).status).toBe(0), {
      timeout: 30_000,
    });
    first.stdin.end();
    await firstEnd;
    expect(await end).toBe(0);
    expect(ended).toEqual(["first", "second"]);
    expect(existsSync(at) ? readFileSync(at, "utf8") : undefined).toBe(content);
    if (content === undefined) expect(snapshot(folder)).toEqual({});
  });

  it("takes over from a first that was killed", async () => {
    const first = await halfWritten();
    const end = second("write", []);
    process.kill(-(first.pid ?? 0), "SIGKILL");
    expect(await end).toBe(0);
    expect(readFileSync(at, "utf8")).toBe("second");
    run("restore", { path: at });
    expect(snapshot(folder)).toEqual({});
  });
});

describe("a run that is killed before any of its steps", () => {
  // More programs than one run starts; a run that gets past the last of them was not killed.
  const MOST_CALLS = 60;

  /**
   * Tries every moment; `prepare` makes the state, `check` looks at what the kill left and at what
   * comes after.
   */
  function atEveryMoment(
    word: "write" | "restore",
    prepare: () => void,
    check: (call: number) => void,
  ): number {
    const scratch = freshFolder();
    let kills = 0;
    for (let call = 1; call <= MOST_CALLS; call++) {
      for (const name of Object.keys(snapshot(folder)))
        rmSync(join(folder, name), { recursive: true, force: true });
      prepare();
      const ran = run(
        word,
        { path: at, mode: "0600", content: "ours 2\n" },
        killedBefore(call, scratch),
      );
      if (ran.status === 0) break;
      kills++;
      check(call);
    }
    return kills;
  }

  function theirs() {
    writeFileSync(at, "theirs\n");
    chmodSync(at, 0o604);
  }
  function theirsThenOurs() {
    theirs();
    run("write", { path: at, content: "ours 1\n" });
  }
  const content = () => (existsSync(at) ? readFileSync(at, "utf8") : undefined);
  const undone = { "settings.json": expect.stringMatching(/^604 \d+:\d+ theirs\n$/) };

  it.each([
    ["the first write", theirs, ["theirs\n", "ours 2\n"]],
    ["an update", theirsThenOurs, ["ours 1\n", "ours 2\n"]],
  ])(
    "%s: the file is the old or the new one, and both a second write and the undo work",
    (_, prepare, either) => {
      const afterwards = (call: number) => {
        expect(either, `killed before call ${call}`).toContain(content());
        if (call % 2 === 0) {
          expect(run("write", { path: at, mode: "0600", content: "ours 2\n" }).status).toBe(0);
          expect(content()).toBe("ours 2\n");
        }
        expect(run("restore", { path: at }).status).toBe(0);
        expect(snapshot(folder), `killed before call ${call}`).toEqual(undone);
      };
      expect(atEveryMoment("write", prepare, afterwards)).toBeGreaterThan(8);
    },
  );

  it("the first write into folders of its own: the undo leaves nothing", () => {
    const path = join(folder, "a/b/settings.json");
    const scratch = freshFolder();
    let kills = 0;
    for (; kills < MOST_CALLS; kills++) {
      if (run("write", { path, content: "ours\n" }, killedBefore(kills + 1, scratch)).status === 0)
        break;
      if (existsSync(path)) expect(readFileSync(path, "utf8")).toBe("ours\n");
      run("restore", { path });
      expect(snapshot(folder), `killed before call ${kills + 1}`).toEqual({});
    }
    expect(kills).toBeGreaterThan(8);
  });

  it("the undo: it is done by the next one", () => {
    const afterwards = (call: number) => {
      expect(["theirs\n", "ours 1\n"]).toContain(content());
      if (call % 2 === 0) run("write", { path: at, content: "ours 1\n" });
      run("restore", { path: at });
      expect(snapshot(folder), `killed before call ${call}`).toEqual(undone);
    };
    expect(atEveryMoment("restore", theirsThenOurs, afterwards)).toBeGreaterThan(4);
  });
});
