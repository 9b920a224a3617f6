import { chmodSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { PlannedContainer } from "../../components/planned/container";
import { temporaryFolder } from "../layers/temporaryFolder";

/** What a stand-in for the `docker` program answers, by the beginning of its arguments. */
export type Answers = Readonly<
  Record<string, { readonly out?: string; readonly err?: string; readonly code?: number }>
>;

/** A `docker` on PATH that answers from a table and notes what it was asked. */
export class FakeDocker {
  readonly folder = temporaryFolder("fake-docker-");
  readonly asked = join(this.folder, "asked");

  constructor(answers: Answers) {
    writeFileSync(this.asked, "");
    const cases = Object.entries(answers).map(
      ([prefix, { out = "", err = "", code = 0 }], index) => {
        const [outFile, errFile] = [
          join(this.folder, `${index}.out`),
          join(this.folder, `${index}.err`),
        ];
        writeFileSync(outFile, out);
        writeFileSync(errFile, err);
        return `"${prefix}"*) cat '${outFile}'; cat '${errFile}' >&2; exit ${code};;`;
      },
    );
    const script = [
      "#!/bin/sh",
      `echo "$DOCKER_HOST $*" >> '${this.asked}'`,
      'case "$*" in',
      ...cases,
      "*) exit 125;;",
      "esac",
    ];
    writeFileSync(join(this.folder, "docker"), `${script.join("\n")}\n`);
    chmodSync(join(this.folder, "docker"), 0o755);
  }

  /** Variables under which the stand-in is found before any real one. */
  get env(): Record<string, string> {
    return { PATH: `${this.folder}${delimiter}${process.env.PATH ?? ""}` };
  }
}

export function inspected(overlay: {
  readonly name: string;
  readonly image?: string;
  readonly state?: Record<string, unknown>;
  readonly labels?: Record<string, string>;
  readonly env?: readonly string[];
}): Record<string, unknown> {
  return {
    Id: "f".repeat(64),
    Name: `/${overlay.name}`,
    Image: `sha256:${"1".repeat(64)}`,
    RestartCount: 6,
    State: { Status: "running", ExitCode: 0, OOMKilled: false, Error: "", ...overlay.state },
    Config: {
      Image: overlay.image ?? "vllm/vllm-openai:v0.30.0",
      Env: overlay.env ?? [],
      Labels: overlay.labels ?? {},
    },
    HostConfig: { PortBindings: { "8001/tcp": [{ HostIp: "127.0.0.1", HostPort: "8001" }] } },
    Mounts: [{ Type: "volume", Name: "local-serving-b-jit", Destination: "/jit-cache" }],
  };
}

/**
 * What `docker inspect` says of a container that runs as it is planned, made from an image with an
 * entrypoint of its own.
 */
export function inspectedAsPlanned(
  container: PlannedContainer,
  state: Record<string, unknown> = {},
) {
  const { name, image, env, labels, command, entrypoint, ports, mounts, network, restart } =
    container;
  return {
    Id: "f".repeat(64),
    Name: `/${name}`,
    Image: `sha256:${"1".repeat(64)}`,
    RestartCount: 0,
    State: { Status: "running", ExitCode: 0, OOMKilled: false, Error: "", ...state },
    Config: {
      Image: image,
      Env: ["PATH=/usr/bin", ...Object.entries(env).map(([key, value]) => `${key}=${value}`)],
      Labels: { "org.opencontainers.image.title": "vLLM", ...labels },
      Cmd: [...command],
      Entrypoint: entrypoint ?? ["docker-entrypoint"],
    },
    HostConfig: {
      PortBindings: Object.fromEntries(
        ports.map(({ ip, host, container }) => [
          `${container}/tcp`,
          [{ HostIp: ip, HostPort: String(host) }],
        ]),
      ),
      RestartPolicy: { Name: restart, MaximumRetryCount: 0 },
    },
    Mounts: mounts.map(({ type, source, target, readOnly }) => ({
      ...(type === "volume"
        ? { Name: source, Source: `/var/lib/docker/volumes/${source}/_data` }
        : { Source: source }),
      ...{ Type: type, Destination: target, RW: !readOnly },
    })),
    NetworkSettings: { Networks: { [network]: {} } },
  };
}
