import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { redactSecrets } from "@local-serving/base/faults/secrets";

const MIB = 1024 ** 2;
const GOAL = "goal: under 2 s";

/** As many pieces between a head and a tail as `size` bytes hold. */
function filled(piece: (index: number) => string, head = "", tail = "", size = MIB): string {
  const pieces: string[] = [];
  let left = size - head.length - tail.length;
  for (let index = 0; ; index++) {
    const next = piece(index);
    left -= next.length;
    if (left < 0) return head + pieces.join("") + tail;
    pieces.push(next);
  }
}

/** Below this many bytes a text of short words is still read. */
const READ = 200_000;

const MACHINES = "config:\n  local-serving:machines:\n";
const MACHINE = `${MACHINES}    dgx:\n      totalGiB: 121.63\n      instanceA: none\n`;
const server = (name: string, port: number, utilization: number) => `        ${name}:
          model: {id: nvidia/Qwen3.6-35B-A3B-NVFP4}
          servedModelName: ${name}
          image: vllm/vllm-openai:v0.30.0@sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90
          versions: {vllm: 0.30.0, transformers: 5.10.4, evidence: read, source: bench}
          port: ${port}
          gpuMemoryUtilization: ${utilization}
          maxModelLen: 1024
`;
const machine = (name: string, servers: number) =>
  `    ${name}:\n      dockerHost: ssh://me@${name}\n      totalGiB: 121.63\n      instanceA: none\n      inferenceServers:\n${Array.from(
    { length: servers },
    (_, index) => server(`s${index}`, 8001 + index, 0.45 / servers),
  ).join("")}`;
const many = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => make(index)).join("");
/** A stack file of as many machines, each with one server. */
export const stackOf = (machines: number) =>
  MACHINES + many(machines, (index) => machine(`m${index}`, 1));
const withText = (text: string) =>
  `${MACHINE}      inferenceServers:\n${server("b", 8001, 0.45)}          environment: {A: "${text}"}\n`;

/**
 * What is said again and again in the worst texts: each could once begin anew wherever it stood.
 */
const PIECES = {
  "names of secrets": "key",
  "names with a value": "key: x ",
  tokens: "-eyJaaaaaaaa",
  addresses: "a://b:c ",
  "keys without an end": "-----BEGIN PRIVATE KEY-----",
  flags: "--key ",
  "quoted values": "key='",
  logins: "auth=YTph ",
};

const STACKS: Readonly<Record<string, string>> = {
  "unknown keys": filled((index) => `      k${index}: 1\n`, MACHINE),
  "unknown keys that are read": filled((index) => `      k${index}: 1\n`, MACHINE, "", READ),
  "maps without a line end": filled(() => "{},", "config: {a: [", "]}\n"),
  commas: filled(() => ",", "config: [", "]\n"),
  "brackets that close nothing": filled(() => "}\n"),
  documents: filled(() => "---\n"),
  comments: filled(() => "#\n", MACHINE),
  aliases: filled((index) => `- &a${index} x\n- *a${index}\n`, "", "", READ),
  "a list": filled(() => "1,", `${MACHINE}      x: [`, "]\n", READ),
  "servers without settings": filled(
    (index) => `        s${index}: {}\n`,
    `${MACHINE}      inferenceServers:\n`,
    "",
    READ,
  ),
  "64 servers of a machine": MACHINES + machine("m", 64),
  "512 machines, the most that are read": stackOf(512),
  ...Object.fromEntries(
    Object.entries(PIECES).map(([name, piece]) => [
      `a text of ${name}`,
      withText(piece.repeat((MIB - 2000) / piece.length)),
    ]),
  ),
};

const HARNESS: Readonly<Record<string, readonly [command: string, file: string, text: string]>> = {
  "automation: unknown keys": [
    "automation",
    "a.yaml",
    filled((index) => `k${index}: 1\n`, "", "", READ),
  ],
  "automation: unknown keys in JSON": [
    "automation",
    "a.json",
    filled((index) => `"k${index}":1,`, "{", '"z":1}', READ),
  ],
  "analytics: unknown keys": [
    "analytics",
    "s.json",
    filled((index) => `"k${index}":1,`, "{", '"z":1}'),
  ],
  "analytics: a key again and again": [
    "analytics",
    "s.json",
    filled(() => '"k":1,', "{", '"z":1}'),
  ],
  "analytics: no JSON at its end": ["analytics", "s.json", filled(() => "1,", "[")],
  "providers: unknown keys": ["providers", "p.toml", filled((index) => `k${index} = 1\n`)],
  "providers: dotted keys": ["providers", "p.toml", filled(() => "a.", "", "a = 1\n")],
  "providers: 80,000 undeclared names": [
    "providers",
    "p.toml",
    filled((index) => `"x${index}",`, "[defaults]\nfallback_chain.a = [", "]\n"),
  ],
  "providers: pairings that are read": [
    "providers",
    "p.toml",
    filled((index) => `[providers.p${index}]\ntype = "cli"\n`, "", "", 60_000) +
      filled((index) => `peer_for.k${index} = "q${index}"\n`, "[defaults]\n", "", 60_000),
  ],
};

/**
 * CPU seconds of `serving` on inputs of at most 1 MiB that were found to cost the most, and of
 * redacting a log.
 */
export function worstInputs(): void {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  try {
    for (const [name, text] of Object.entries(STACKS)) {
      const file = join(folder, "Pulumi.x.yaml");
      writeFileSync(file, text);
      told(`plan: ${name}`, cpuSeconds("plan", "--file", file));
    }
    for (const [name, [command, base, text]] of Object.entries(HARNESS)) {
      const file = join(folder, base);
      writeFileSync(file, text);
      told(`harness check: ${name}`, cpuSeconds("harness", "check", command, file));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  for (const [name, piece] of Object.entries(PIECES)) {
    const line = piece.repeat(8192 / piece.length);
    told(
      `a log of ${name}, redacted`,
      ownSeconds(() => many(128, () => redactSecrets(line))),
    );
  }
}

/** Of all programs that this one started and that ended, as the shell counts. */
function cpuSeconds(...args: readonly string[]): number {
  const script = 'TIMEFORMAT="%U %S"; time node bundle/serving.cjs "$@" >/dev/null 2>&1';
  const { stderr } = spawnSync("bash", ["-c", script, "bash", ...args], { encoding: "utf8" });
  return stderr
    .trim()
    .split(" ")
    .reduce((sum, each) => sum + Number(each), 0);
}

function ownSeconds(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

const told = (name: string, seconds: number) =>
  console.log(`${name.padEnd(52)} ${seconds.toFixed(2).padStart(6)} s of CPU  ${GOAL}`);
