import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { PlannedContainer } from "../../components/planned/container";
import { inspectedAsPlanned } from "../cli/fakeDocker";

/**
 * A `docker` whose containers are programs of this machine: what it is asked to run in one, it runs
 * here. Names of containers lead to loopback and the host's name to an address of the machine that
 * is not loopback, as they do inside.
 */
export class DockerOfProcesses {
  /** Variables under which it is found before any real one. */
  readonly env: Readonly<Record<string, string>>;

  constructor(
    private readonly folder: string,
    hostAddress: string,
  ) {
    mkdirSync(folder, { recursive: true });
    const script = `#!/bin/sh
here() {
  printf %s "$1" | sed -E 's#//host\\.docker\\.internal:#//${hostAddress}:#; s#//(vllm|litellm|open-webui)-[^:/]*:#//127.0.0.1:#'
}
case "$1" in
inspect) cat "${folder}/$4.json" ;;
top) ps -o pid,rss,comm -p "$(cat "${folder}/$2.pid")" ;;
exec)
  [ -s "${folder}/$2.pid" ] || { echo "Error response from daemon: container $2 is not running" >&2; exit 1; }
  shift 2
  for word; do
    set -- "$@" "$(here "$word")"
    shift
  done
  exec "$@"
  ;;
*) echo "docker: '$1' is not a command of this one" >&2; exit 1 ;;
esac
`;
    writeFileSync(join(folder, "docker"), script);
    chmodSync(join(folder, "docker"), 0o755);
    this.env = { PATH: `${folder}${delimiter}${process.env.PATH ?? ""}` };
  }

  /**
   * A planned container runs as this process; with these variables where they are not the planned
   * ones.
   */
  runs(container: PlannedContainer, pid: number, env = container.env) {
    this.write(container.name, inspectedAsPlanned({ ...container, env }));
    writeFileSync(join(this.folder, `${container.name}.pid`), String(pid));
  }

  /** Its process has ended. */
  ended(container: PlannedContainer): void {
    const { name } = container;
    this.write(name, inspectedAsPlanned(container, { Status: "exited" }));
    rmSync(join(this.folder, `${name}.pid`), { force: true });
  }

  private write(name: string, container: unknown): void {
    writeFileSync(join(this.folder, `${name}.json`), JSON.stringify([container]));
  }
}
