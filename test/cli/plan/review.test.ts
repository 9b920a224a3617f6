import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DIGEST } from "../../fixtures/machine";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { runServing } from "../runServing";

const BEFORE = "test/cli/plan/review/before.yaml";
const folder = temporaryFolder("review-");

/** What a reviewer has to find in the Markdown of a change. */
interface Answers {
  /**
   * Containers that are created, replaced or removed, each with its verb; none where nothing is
   * touched.
   */
  readonly containers: readonly string[];
  /** For how long `b` is gone. */
  readonly gone: string | undefined;
  readonly memory: string;
  /** Whether a policy refuses it. */
  readonly refused?: true;
}

/** Changes by which neither the sum nor a KV cache changes. */
const MEMORY_AS_BEFORE = new Set([
  "a-newer-image",
  "the-bridge-on-the-network",
  "a-corrected-record",
  "ollama-by-us",
]);

const KERNELS = "if its kernels are already in the volume local-serving-b-jit";
const FITS = "memory fits: 4.67 of 121.63 GiB are left, as before";
const SHARE = "gpuMemoryUtilization: 0.45\n          maxModelLen: 262144";
const SECOND = `        # A second one.
        c:
          model: { id: Qwen/Qwen3-Embedding-0.6B, kind: embedding }
          servedModelName: qwen3-embedding
          image: vllm/vllm-openai:v0.30.0@sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90
          versions: { vllm: 0.30.0, transformers: 5.10.4, evidence: published, digest: sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90, source: wheel metadata }
          port: 8002
          gpuMemoryUtilization: 0.05
          maxModelLen: 8192
`;

const CHANGES: readonly [
  name: string,
  edits: readonly (readonly [from: string, to: string])[],
  answers: Answers,
][] = [
  [
    "a-lower-share",
    [[SHARE, SHARE.replace("0.45", "0.40")]],
    {
      containers: ["b replaced"],
      gone: "until the new server answers, and it may not start",
      memory: "memory fits: 4.67 -> 10.75 of 121.63 GiB are left",
    },
  ],
  [
    "a-shorter-window",
    [[SHARE, SHARE.replace("262144", "131072")]],
    {
      containers: ["b replaced"],
      gone: `for 4 to 25 min, at most 10 min ${KERNELS}`,
      memory: FITS,
    },
  ],
  [
    "a-newer-image",
    [
      [
        /image: vllm.*/.exec(readFileSync(BEFORE, "utf8"))?.[0] ?? "",
        `image: vllm/vllm-openai:v0.31.0@${DIGEST}`,
      ],
      ["vllm: 0.30.0", "vllm: 0.31.0"],
      [/digest: sha256.*/.exec(readFileSync(BEFORE, "utf8"))?.[0] ?? "", `digest: ${DIGEST}`],
    ],
    {
      containers: ["b replaced"],
      gone: `for 14 to 25 min, or 4 to 10 min ${KERNELS}`,
      memory: FITS,
    },
  ],
  [
    "another-model",
    [
      ["id: nvidia/Qwen3.6-35B-A3B-NVFP4", "id: nvidia/Gemma-4-26B-A4B-NVFP4"],
      ["weightsGB: 22", "weightsGB: 16"],
      ["servedModelName: qwen3.6-35b-a3b", "servedModelName: gemma-4-26b-a4b"],
    ],
    {
      containers: ["b replaced", "bridge replaced", "chat-ui replaced"],
      gone: `for 13 to 24 min, or 3 to 9 min ${KERNELS}`,
      memory: FITS,
    },
  ],
  [
    "the-bridge-on-the-network",
    [
      [
        "port: 8787",
        "port: 8787\n        listen: 0.0.0.0\n        keyVariable: LOCAL_SERVING_BRIDGE_KEY",
      ],
    ],
    { containers: ["bridge replaced"], gone: undefined, memory: FITS },
  ],
  [
    "no-chat-ui",
    [
      [
        / {6}# Chat in the browser.*\n {6}chatUi:\n(?: {8}.*\n)+/.exec(
          readFileSync(BEFORE, "utf8"),
        )?.[0] ?? "",
        "",
      ],
    ],
    {
      containers: ["chat-ui removed"],
      gone: undefined,
      memory: "memory fits: 4.67 -> 5.87 of 121.63 GiB are left",
    },
  ],
  [
    "a-corrected-record",
    [
      [
        "transformers: 5.10.4\n            evidence: published",
        "transformers: 5.11.0\n            evidence: read",
      ],
    ],
    { containers: [], gone: undefined, memory: FITS },
  ],
  [
    "a-larger-b-beside-a-smaller-a",
    [
      [SHARE, SHARE.replace("0.45", "0.60")],
      [
        "gpuMemoryUtilization: 0.45\n        maxModelLen",
        "gpuMemoryUtilization: 0.30\n        maxModelLen",
      ],
    ],
    {
      containers: ["b replaced"],
      gone: "for 4 to 10 min",
      memory: "memory fits: 4.67 -> 4.66 of 121.63 GiB are left",
    },
  ],
  [
    "a-second-server",
    [["      # Turns messages-style", `${SECOND}      # Turns messages-style`]],
    {
      containers: ["c created", "bridge replaced", "chat-ui replaced"],
      gone: undefined,
      memory: "memory does not fit: 2.35 GiB too much for 121.63 GiB; 4.67 GiB were left",
      refused: true,
    },
  ],
  [
    "ollama-by-us",
    [["      elevate: none", "      elevate: [sudo, -n]"]],
    { containers: [], gone: undefined, memory: FITS },
  ],
];

const titleOf = (line: string) => /<summary>(.*) \(\d+\)/.exec(line)?.[1];
const REACHED =
  "- dgx: bridge is newly reachable from the network: port 8787 of every address (`clients.host` names one). It asks for a key or a login.";

/** What a review of each change ends with; the others are applied by `up`, `wait` and `verify`. */
const RUNS: Readonly<Record<string, string>> = {
  "a-newer-image":
    "`npx --no -- serving fetch && npx --no -- serving up && npx --no -- serving status --wait && npx --no -- serving verify`",
  "another-model":
    "`npx --no -- serving fetch && npx --no -- serving up && npx --no -- serving status --wait && npx --no -- serving verify`",
  "the-bridge-on-the-network": "`npx --no -- serving up && npx --no -- serving verify`",
  "no-chat-ui": "`npx --no -- serving up && npx --no -- serving verify`",
  "a-corrected-record": "Nothing: no machine changes.",
  "a-second-server": "Nothing yet: `npx --no -- serving up` refuses it. Fix the stack file first.",
  "ollama-by-us": "`npx --no -- serving up && npx --no -- serving verify`",
};

const VERIFIED =
  "- `npx --no -- serving up --verified`, which goes back if something that worked doesn't any more; a machine that hangs can't.";

/** A change of the stack file, as Markdown. */
async function review(edits: readonly (readonly [string, string])[]) {
  let text = readFileSync(BEFORE, "utf8");
  for (const [from, to] of edits) {
    if (from === "" || !text.includes(from)) throw new Error(`no ${from} in ${BEFORE}`);
    text = text.replace(from, to);
  }
  const after = join(folder, "after.yaml");
  writeFileSync(after, text);
  const args = ["plan", "--file", after, "--against", BEFORE, "--format"];
  const [shown, data] = [
    await runServing([...args, "markdown"], HOME),
    await runServing([...args, "json"], HOME),
  ];
  expect([shown.code, shown.err]).toEqual([data.code, ""]);
  return {
    code: shown.code,
    markdown: shown.out,
    change: (JSON.parse(data.out) as { change: object }).change,
  };
}
const HOME = { HOME: "/home/me" };

describe("a reviewer of ten changes", () => {
  it("has ten", () => {
    expect(new Set(CHANGES.map(([name]) => name)).size).toBe(10);
  });

  it.each(CHANGES)(
    "reads what is replaced, for how long b is gone, and whether memory fits: %s",
    async (name, edits, answers) => {
      const { code, markdown, change } = await review(edits);
      await expect(markdown).toMatchFileSnapshot(`review/${name}.md`);
      const lines = markdown.split("\n");
      const kinds = lines.flatMap(
        (line) =>
          /^- (\S+) \(\S+\) is (created|replaced|removed)\b/.exec(line)?.slice(1).join(" ") ?? [],
      );
      expect(kinds.sort()).toEqual([...answers.containers].sort());
      const [, gone] = /^- dgx: b \(.*?\) is gone (.*?)\.(?: |$)/m.exec(markdown) ?? [];
      expect(gone).toBe(answers.gone);
      expect(lines).toContain(`- dgx: ${answers.memory}.`);
      expect(code).toBe(answers.refused ? 1 : 0);
      expect(markdown).not.toContain("/home/me");
      expect(lines.filter((line) => /newly reachable/.test(line))).toEqual([
        name === "the-bridge-on-the-network"
          ? REACHED
          : "- Nothing is newly reachable from the network.",
      ]);
      expect(lines.filter((line) => line.startsWith("<details>")).map(titleOf)).toEqual([
        "What changes on dgx",
        ...(name === "a-newer-image"
          ? ["What vLLM 0.31.0 makes of the arguments of b on dgx"]
          : []),
        ...(MEMORY_AS_BEFORE.has(name) ? [] : ["Memory of dgx"]),
      ]);
      const run =
        RUNS[name] ??
        "`npx --no -- serving up && npx --no -- serving status --wait && npx --no -- serving verify`";
      const replaces =
        answers.refused !== true && answers.containers.some((each) => !each.endsWith("removed"));
      const ways = replaces
        ? [VERIFIED, `- Or step by step, which doesn't go back by itself: ${run}`]
        : [`- ${run}`];
      const exported =
        name === "the-bridge-on-the-network"
          ? [
              "- `export LOCAL_SERVING_BRIDGE_KEY=$(openssl rand -hex 32)` first, in the shell that runs `up`; clients of what asks for it need it, too.",
            ]
          : [];
      const next = ["### To run after merging", "", ...exported, ...ways, ""];
      expect(lines.slice(-next.length)).toEqual(next);
      expect(lines.some((line) => line.startsWith("- REFUSED by"))).toBe(answers.refused === true);
      expect(lines[0]).toBe(`### after.yaml against ${BEFORE}`);
      const whole = markdown.match(/sha256:[0-9a-f]{64}/g) ?? [];
      expect(whole.length).toBe(new Set(whole).size);
      expect(change).toMatchObject({ against: BEFORE, machines: [{ machine: "dgx" }], back: null });
    },
  );

  it("reads each setting that was changed, with its line", async () => {
    const { markdown } = await review(CHANGES[7]?.[1] ?? []);
    const [, settings] = /### Changed settings\n\n(.*?)\n\n/s.exec(markdown) ?? [];
    expect(settings?.split("\n")).toEqual([
      "- `machines.dgx.instanceA.gpuMemoryUtilization` (line 15): 0.45 -> 0.3",
      "- `machines.dgx.inferenceServers.b.gpuMemoryUtilization` (line 37): 0.45 -> 0.6",
    ]);
  });
});

describe("a server that may not start", () => {
  const text = readFileSync(BEFORE, "utf8");
  const at = (share: number, port = 8787) =>
    text
      .replace(SHARE, SHARE.replace("0.45", share.toFixed(2)))
      .replace("port: 8787", `port: ${port}`);
  const asks = async (before: string, after: string): Promise<string[]> => {
    const files = [before, after].map((each, index) => {
      const file = join(folder, `share-${index}.yaml`);
      writeFileSync(file, each);
      return file;
    });
    const args = [
      "plan",
      "--file",
      files[1] ?? "",
      "--against",
      files[0] ?? "",
      "--format",
      "json",
    ];
    const { out } = await runServing(args, { HOME: folder });
    const { change } = JSON.parse(out) as { change: { asks: string[] } };
    return change.asks.filter((each) => /b:? may not start/.test(each));
  };
  const doubt = (was: string) => [
    expect.stringMatching(
      new RegExp(`^New warning \\(dgx\\): b: may not start: .* Before this change, it ${was}\\.$`),
    ),
  ];

  it("is asked about where an update starts it, with what it was before, and not where it runs on", async () => {
    expect(await asks(at(0.45), at(0.4))).toEqual(doubt("surely starts"));
    expect(await asks(at(0.4), at(0.41))).toEqual([
      "dgx: b may not start. Before this change, it isn't sure, either.",
    ]);
    expect(await asks(at(0.4), at(0.4, 8788))).toEqual([]);
  });
});

describe("a model that is too large for the share of the one before", () => {
  const larger = (...more: readonly string[]) =>
    readFileSync(BEFORE, "utf8")
      .replace("id: nvidia/Qwen3.6-35B-A3B-NVFP4", "id: Sehyo/Qwen3.5-122B-A10B-NVFP4")
      .replace("weightsGB: 22\n", "family: qwen3\n")
      .replace(SHARE, [SHARE, ...more].join("\n          "));
  const plan = async (text: string) => {
    const after = join(folder, "larger.yaml");
    writeFileSync(after, text);
    const args = ["plan", "--file", after, "--against", BEFORE, "--strict", "--format", "markdown"];
    return runServing(args, HOME);
  };

  it("fails, and neither a time nor room is promised of it", async () => {
    const [refused, anyway] = [await plan(larger()), await plan(larger("startAnyway: I saw it"))];
    for (const { code, out } of [refused, anyway]) {
      expect(code).toBe(1);
      expect(out).toMatch(/b \(.*\) is gone until you go back: the new server can't start\./);
      expect(out).not.toMatch(/memory fits|GB of weights|is gone for \d+ to \d+ min/);
    }
    expect(refused.out).toContain("- Don't approve this yet: ");
    expect(anyway.out).toContain("- Ask before you approve this: ");
  });

  it("starts, as far as its name tells, with the share that is advised", async () => {
    const small = (share: number) =>
      larger()
        .replace(
          "gpuMemoryUtilization: 0.45\n        maxModelLen",
          "gpuMemoryUtilization: 0.3\n        maxModelLen",
        )
        .replace(SHARE, SHARE.replace("0.45", `${share}`));
    for (const share of [0.5, 0.51]) {
      const { out } = await plan(small(share));
      const [, advised] = /(?:Set|Write) `gpuMemoryUtilization: ([\d.]+)`/.exec(out) ?? [];
      expect(advised).toBe("0.54");
    }
    const { code, out } = await plan(small(0.54));
    expect(out).not.toMatch(/(can't|may not) start/);
    expect(code).toBe(0);
  });
});

it("a file with faults is a decision, and each fault a point with its line", async () => {
  const after = join(folder, "faulty.yaml");
  writeFileSync(
    after,
    readFileSync(BEFORE, "utf8").replace("port: 8787", "port: 8787\n        listen: 0.0.0.0"),
  );
  const args = ["plan", "--file", after, "--against", BEFORE, "--format", "markdown"];
  const { code, out, err } = await runServing(args, HOME);
  expect([code, err]).toEqual([1, ""]);
  expect(out.split("\n").slice(2, 4)).toEqual([
    "- Don't approve this yet: the file has 1 fault.",
    expect.stringMatching(
      /^- line \d+, `machines\.dgx\.bridge\.keyVariable`: The bridge is published on 0\.0\.0\.0, which needs a key\./,
    ),
  ]);
});
