import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { temporaryFolder } from "./temporaryFolder";

const FORWARD = `
const net = require("node:net");
const ways = process.argv.flatMap((word, at) => (word === "-L" ? [process.argv[at + 1].split(":")] : []));
for (const [, here, host, port] of ways)
  net.createServer((from) => {
    const to = net.connect(Number(port), host);
    for (const end of [from, to]) end.on("error", () => [from, to].map((each) => each.destroy()));
    from.pipe(to).pipe(from);
  }).listen(here, "127.0.0.1");
`;

/**
 * An `ssh` on PATH that runs the command here with a marked environment, or hands ports on, and
 * notes where it was to run; or only says why not.
 */
export class FakeSsh {
  readonly folder = temporaryFolder("fake-ssh-");
  private readonly log = join(this.folder, "asked");

  /** @param says why no connection comes about, on stderr */
  constructor(says?: string) {
    writeFileSync(this.log, "");
    const refuses = join(this.folder, "says");
    if (says !== undefined) writeFileSync(refuses, `${says}\n`);
    const forward = join(this.folder, "forward.cjs");
    writeFileSync(forward, FORWARD);
    const script = [
      "#!/bin/sh",
      `if [ ! -e '${refuses}' ]; then case " $* " in *" -N "*) exec '${process.execPath}' '${forward}' "$@" ;; esac; fi`,
      'while [ "$1" != -- ]; do shift; done',
      `printf '%s %s\\n' "$2" "$(printf %s "$3" | tail -n 1)" >>'${this.log}'`,
      `if [ -e '${refuses}' ]; then cat '${refuses}' >&2; exit 255; fi`,
      'exec env -i PATH="$PATH" HOME="$HOME" THERE=yes sh -c "$3"',
    ];
    writeFileSync(join(this.folder, "ssh"), `${script.join("\n")}\n`);
    chmodSync(join(this.folder, "ssh"), 0o755);
  }

  get path(): string {
    return `${this.folder}${delimiter}${process.env.PATH ?? ""}`;
  }

  /** A line for each call: the destination and the last line of the command. */
  asked(): string[] {
    return readFileSync(this.log, "utf8").split("\n").filter(Boolean);
  }
}
