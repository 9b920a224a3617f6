import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { copiesEnvironment, copiesWords } from "@local-serving/machines/copies/dataCopies";
import { chatUi } from "../../../components/services/chat-ui/service";
import { temporaryFolder } from "../../layers/temporaryFolder";

export const OLD = "ghcr.io/open-webui/open-webui:v0.11.3";
export const NEW = "ghcr.io/open-webui/open-webui:v0.12.4";
export const ID = "c0ffee";

/**
 * A `docker` whose volume is a folder and whose container is a file. It counts what it is asked, and
 * kills the whole run before or in the middle of the given call.
 */
const DOCKER = `#!/bin/sh
set -u
FAKE=\${0%/bin/docker}
echo "$1 \${2-}" >>"$FAKE/asked"
if [ -e "$FAKE/away" ]; then echo 'Cannot connect to the Docker daemon' >&2; exit 1; fi
if [ "$1" = run ] && [ -e "$FAKE/refused" ]; then cat "$FAKE/refused" >&2; exit 1; fi
at() { [ "$(wc -l <"$FAKE/asked")" = "\${KILL_AT-}" ] && [ "$KILL_WHEN" = "$1" ]; }
killed() { if at "$1"; then kill -9 0; fi; }
killed before
case $1 in
  ps) cat "$FAKE/container" 2>/dev/null || : ;;
  inspect) echo "WARNING: a warning" >&2; printf '%s sha256:%s %s %s\\n' "$(cat "$FAKE/running")" "$(cat "$FAKE/image")" "$(cat "$FAKE/image")" "$(cat "$FAKE/began")" ;;
  image) if [ -e "$FAKE/same" ]; then echo "sha256:$(cat "$FAKE/image")"; else echo "sha256:\${5-}"; fi ;;
  run)
    for last; do :; done
    if [ -e "$FAKE/programs" ]; then programs=$(cat "$FAKE/programs"); else programs=$PATH; fi
    case "$*" in
      *'--entrypoint python3'*)
        if [ -e "$FAKE/python" ]; then
          while [ "$1" != -c ]; do shift; done
          program=$2
          shift 3
          python3 -c "$program" "$FAKE/volume" "$@"
        else cat "$FAKE/volume/revision"; fi ;;
      *'tee /dev/fd/3'*)
        if [ -e "$FAKE/full" ]; then printf half; echo 'write: no space left on device' >&2; exit 1; fi
        if at middle; then printf half; kill -9 0; fi
        if [ -e "$FAKE/lost" ]; then DATA=$FAKE/volume sh -c "$last" | { head -c 700; cat >/dev/null; }
        else DATA=$FAKE/volume sh -c "$last"; fi ;;
      *'tar -xp'*)
        if at middle; then head -c 700 | DATA=$FAKE/volume sh -c "$last"; kill -9 0; fi
        DATA=$FAKE/volume sh -c "$last" ;;
      *) DATA=$FAKE/volume PATH=$programs /bin/sh -c "$last" ;;
    esac ;;
  stop) echo false >"$FAKE/running"; echo "$2" ;;
  start) echo true >"$FAKE/running"; echo x >>"$FAKE/began"; echo "$2" ;;
  info) echo "$FAKE" ;;
esac
code=$?
killed after
exit $code
`;

/** A machine with one container, its volume and the script's copies. */
export class FakeVolume {
  readonly folder = temporaryFolder("copies-");
  readonly copies = join(this.folder, "state/dgx/copies/chat-ui");
  readonly volume = join(this.folder, "volume");

  constructor(image = OLD) {
    for (const each of ["bin", "volume/uploads", "state"])
      mkdirSync(join(this.folder, each), { recursive: true });
    writeFileSync(join(this.folder, "bin/docker"), DOCKER, { mode: 0o755 });
    // The disk's own time is none of a test's.
    writeFileSync(join(this.folder, "bin/sync"), "#!/bin/sh\n", { mode: 0o755 });
    this.set({ container: ID, running: "true", image, began: "day" });
    this.write("old");
  }

  set(facts: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(facts))
      writeFileSync(join(this.folder, name), `${text}\n`);
  }

  /** What a version of the program writes: a database, a hidden file, an upload of its own name. */
  write(revision: string): void {
    writeFileSync(join(this.volume, "webui.db"), `database of ${revision}`);
    writeFileSync(join(this.volume, "revision"), `${revision}\n`);
    writeFileSync(join(this.volume, ".secret"), revision);
    writeFileSync(join(this.volume, `uploads/${revision}`), "x");
    chmodSync(join(this.volume, ".secret"), 0o640);
  }

  get running(): boolean {
    return readFileSync(join(this.folder, "running"), "utf8") === "true\n";
  }

  /** The names of whole copies, the oldest first. */
  names(): string[] {
    if (!existsSync(this.copies)) return [];
    return readdirSync(this.copies)
      .filter((name) => existsSync(join(this.copies, name, "copy.json")))
      .sort();
  }

  about(name: string): Record<string, unknown> {
    return JSON.parse(readFileSync(join(this.copies, name, "copy.json"), "utf8")) as Record<
      string,
      unknown
    >;
  }

  /** What is in the volume, each file with its mode and text. */
  data(folder = this.volume): Record<string, string> {
    return Object.fromEntries(
      readdirSync(folder, { recursive: true, encoding: "utf8" })
        .sort()
        .map((name) => {
          const path = join(folder, name);
          const stat = statSync(path);
          const text = stat.isDirectory() ? "" : readFileSync(path, "utf8");
          return [name, `${(stat.mode & 0o7777).toString(8)} ${text}`];
        }),
    );
  }

  /** What docker was asked, each by its first words. */
  asked(): string[] {
    return readFileSync(join(this.folder, "asked"), "utf8").split("\n").filter(Boolean);
  }

  /** Runs the script in a session of its own, so that a kill reaches nothing else. */
  run(
    args: readonly string[],
    { image = NEW, env = {} }: { readonly image?: string; readonly env?: NodeJS.ProcessEnv } = {},
  ): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
    writeFileSync(join(this.folder, "asked"), "");
    const variables = copiesEnvironment({
      service: "chat-ui",
      folder: this.copies,
      dockerHost: "unix:///var/run/docker.sock",
      image,
      container: "open-webui-8080",
      volume: "net-chat-ui-data",
      label: "local-serving.machine=dgx",
      database: chatUi.data?.database ?? { file: "", revision: [] },
    });
    const [program = "", ...words] = copiesWords(args);
    const child = spawn("setsid", ["--wait", program, ...words], {
      env: {
        ...variables,
        PATH: `${join(this.folder, "bin")}:${process.env.PATH}`,
        ...env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const said = { out: "", err: "" };
    child.stdout.on("data", (text) => {
      said.out += String(text);
    });
    child.stderr.on("data", (text) => {
      said.err += String(text);
    });
    return new Promise((resolve) => child.once("close", (code) => resolve({ code, ...said })));
  }

  /** The copies whose tar is not what was written. */
  damaged(): string[] {
    return this.names().filter((name) => {
      const tar = readFileSync(join(this.copies, name, "data.tar"));
      return createHash("sha256").update(tar).digest("hex") !== this.about(name).sha256;
    });
  }
}

/** A machine on which the new version has taken the data, and migrated them. */
export async function migrated() {
  const volume = new FakeVolume();
  const old = volume.data();
  await volume.run(["before"]);
  const [copy = ""] = volume.names();
  volume.set({ container: "beef", image: NEW, running: "true" });
  volume.write("new");
  return { volume, copy, old, newer: volume.data() };
}

/** A moment of a run: a call of docker, by its number. */
export interface Moment {
  readonly call: number;
  readonly when: "before" | "middle" | "after";
}

/** Variables under which a run is killed at that moment. */
export const killedAt = ({ call, when }: Moment) => ({ KILL_AT: `${call}`, KILL_WHEN: when });
