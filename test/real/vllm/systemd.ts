import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { temporaryFolder } from "../../layers/temporaryFolder";

/**
 * As much of systemd and sudo as a stack with Ollama on the host asks for, where neither is: one
 * unit, started by hand.
 */
export interface Systemd {
  /** Variables under which the commands are found before any real one. */
  readonly env: Readonly<Record<string, string>>;
  /** Keys of `simpleServer`. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly stop: string;
}

/** `ollama` runs while its drop-in is there, with that one's variables. */
export function startSystemd(ollama: string): Systemd {
  const folder = temporaryFolder("systemd-");
  const at = (name: string) => join(folder, name);
  for (const name of ["bin", "models"]) mkdirSync(at(name));
  writeFileSync(at("ollama.service"), "[Service]\n");
  const command = (name: string, text: string) =>
    writeFileSync(at(`bin/${name}`), `#!/bin/sh\n${text}`, { mode: 0o755 });
  command("sudo", '[ "$1" = -n ] || exit 1\nshift\nexec "$@"\n');
  command(
    "systemctl",
    `[ "$1" = restart ] || exit 0
cd '${folder}' || exit 1
[ ! -s pid ] || kill "$(cat pid)"
rm -f pid
[ -f ollama.service.d/50-local-serving.conf ] || exit 0
variables=$(sed -n 's/^Environment="\\(.*\\)"$/\\1/p' ollama.service.d/50-local-serving.conf)
env HOME='${folder}' $variables setsid '${ollama}' serve >log 2>&1 </dev/null &
echo $! >pid
`,
  );
  return {
    env: { PATH: `${at("bin")}${delimiter}${process.env.PATH ?? ""}` },
    settings: { systemdDirectory: folder, modelsDirectory: at("models"), serviceUser: "root" },
    stop: at("bin/systemctl"),
  };
}
