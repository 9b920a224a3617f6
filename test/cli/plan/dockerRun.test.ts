import { execFileSync } from "node:child_process";
import { shellWord } from "@local-serving/base/faults/shellWords";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dockerRun } from "../../../cli/plan/dockerRun";
import { START_GATE } from "../../../components/inference-server/startGate";
import { plan } from "../../../components/plan/plan";
import { stack } from "../../fixtures/machine";

describe("a container as `docker run`", () => {
  const [container] = plan(stack({}, { speculative: { method: "mtp", numSpeculativeTokens: 3 } }), {
    home: "/home/me",
  }).machines.flatMap((machine) => machine.containers);
  const text = container === undefined ? "" : dockerRun(container);
  // A shell takes the text apart as it would when somebody pastes it.
  const words = execFileSync("sh", ["-c", `docker() { printf '%s\\001' "$@"; }\n${text}`], {
    encoding: "utf8",
  })
    .split("\u0001")
    .slice(0, -1);

  it("is the plan's command once a shell has read it", () => {
    const image = words.indexOf(container?.image ?? "");
    expect(words.slice(0, 2)).toEqual(["run", "--detach"]);
    expect(words[words.indexOf("--entrypoint") + 1]).toBe("/bin/sh");
    expect(words.slice(image + 1)).toEqual([
      "-c",
      START_GATE,
      container?.name,
      ...(container?.command ?? []),
    ]);
  });

  it("carries GPUs, ipc, restart, ports, mounts and health", () => {
    const optionValue = (option: string) => words[words.indexOf(option) + 1];
    expect(optionValue("--gpus")).toBe("all");
    expect(optionValue("--ipc")).toBe("host");
    expect(optionValue("--restart")).toBe("unless-stopped");
    expect(optionValue("--publish")).toBe("127.0.0.1:8001:8001");
    expect(optionValue("--health-start-period")).toBe("2700s");
    expect(words.filter((word) => word.startsWith("type="))).toEqual([
      "type=bind,source=/home/me/.cache/huggingface,target=/root/.cache/huggingface",
      "type=volume,source=local-serving-b-jit,target=/jit-cache",
      "type=bind,source=/home/me/.local/share/local-serving/dgx/start-gate,target=/run/local-serving,readonly",
      "type=volume,source=local-serving-gate,target=/var/lib/local-serving",
    ]);
  });
});

describe("a word for the shell", () => {
  it("comes back as it was", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.string({ maxLength: 12 }).filter((text) => !text.includes("\0")),
          { maxLength: 8 },
        ),
        (given) => {
          const script = `for word in ${given.map((word) => (word === "" ? "''" : shellWord(word))).join(" ")}; do printf '%s\\001' "$word"; done`;
          const printed = execFileSync("sh", ["-c", script], { encoding: "utf8" });
          expect(printed).toBe(given.map((word) => `${word}\u0001`).join(""));
        },
      ),
      { numRuns: 30 },
    );
  });
});
