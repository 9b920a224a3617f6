import { describe, expect, it } from "vitest";
import { SIGNS } from "../../../cli/rules/registry";
import { reportsOf } from "../../../cli/rules/report";
import { scanLog } from "../../../cli/sees/log/scanLog";
import { ofLines } from "./ofLines";
import { stackOf } from "./stack";

const REFUSED = "error: unrecognized arguments:";
const GIVEN = "was given words that it doesn't take:";
const TWICE =
  "Leave out `vllm serve` (or the `python3 -m ...`) behind the image's name, and begin with the model.";

const twoWords = (flag: string, value: string) =>
  `Write two words, \`${flag}\` and \`${value}\` (two items in a list of compose, no quotes around both), or \`${flag}=${value}\`.`;
const unknown = (flag: string) => `\`${flag}\` is unknown: no vLLM from 0.23.0 to 0.33.0 has it`;

describe("argparse's leftovers", () => {
  it.each([
    [
      "a flag and its value in one word",
      [`vllm: ${REFUSED} --gpu-memory-utilization 0.8`],
      "`--gpu-memory-utilization` and its value came as one word, with a blank inside",
      twoWords("--gpu-memory-utilization", "0.8"),
    ],
    [
      "the same of a version that is known, by its short name",
      ["vLLM API server version 0.30.0", `vllm: ${REFUSED} -tp 2`],
      "`-tp` and its value came as one word, with a blank inside",
      twoWords("-tp", "2"),
    ],
    [
      "a switch in quotes",
      ["vLLM API server version 0.30.0", `vllm: ${REFUSED} "--trust-remote-code"`],
      "`--trust-remote-code` is an option of vLLM, but its word has more in it, such as a blank or a quote at its end",
      "Write `--trust-remote-code` alone, without quotes inside the word.",
    ],
    [
      "an option that may be younger than this vLLM",
      [`vllm: ${REFUSED} --reasoning-config {"a": 1}`],
      "`--reasoning-config` is an option of vLLM 0.23.0 and later: this one is older, or `--reasoning-config` and its value came as one word, with a blank inside",
      `Take an image of a release that has \`--reasoning-config\`, or take it out. Where it has it: ${twoWords("--reasoning-config", "VALUE")}`,
    ],
    [
      "`serve` behind an entrypoint of before `vllm serve`",
      [`api_server.py: ${REFUSED} serve org/model-7b`],
      "`serve org/model-7b` came as extra words, since the image's entrypoint starts the server already (api_server.py)",
      "Leave out `vllm serve` (or the `python3 -m ...`) behind the image's name, and write `--model` in front of the model.",
    ],
    [
      "`vllm serve` behind an entrypoint",
      [`vllm: ${REFUSED} vllm serve org/model-7b`],
      "`vllm serve org/model-7b` came as extra words, since the image's entrypoint is `vllm serve` already: it stands twice",
      TWICE,
    ],
    [
      "Python's module behind an entrypoint",
      [`vllm: ${REFUSED} python3 -m vllm.entrypoints.openai.api_server`],
      "`python3` came as extra words, since the image's entrypoint is `vllm serve` already: it stands twice",
      TWICE,
    ],
    [
      "a shell behind an entrypoint, whose words are its own",
      [`vllm: ${REFUSED} /bin/sh -c cd /work && vllm serve org/m --port 8000`],
      "`/bin/sh` came as arguments of vLLM, which the image's entrypoint already starts",
      "Leave the shell out, or make it the entrypoint (`docker run --entrypoint bash IMAGE -c '...'`, `entrypoint:` in compose).",
    ],
    [
      "a short name with two dashes",
      [`vllm: ${REFUSED} --tp 2`],
      "`--tp` is misspelt",
      "Write `-tp` for `--tp`.",
    ],
    [
      "a misspelt flag",
      [`vllm: ${REFUSED} --max_model_length 4096`],
      "`--max_model_length` is misspelt",
      "Write `--max-model-len` for `--max_model_length`.",
    ],
    [
      "one hyphen",
      [`vllm: ${REFUSED} -max-num-seqs 8`],
      "`-max-num-seqs` is misspelt",
      "Write `--max-num-seqs` for `-max-num-seqs`.",
    ],
    [
      "long dashes",
      ["vLLM API server version 0.30.0", `vllm: ${REFUSED} \u2013\u2013max-model-len 4096`],
      "`\u2013\u2013max-model-len` begins with a long dash, as web pages and editors make it",
      "Write `--max-model-len` with two hyphens.",
    ],
    [
      "a flag that came later, and one that is gone",
      [
        "vLLM API server version 0.28.0",
        `vllm: ${REFUSED} --kda-decode-backend triton --calculate-kv-scales`,
      ],
      "`--kda-decode-backend` is in vLLM 0.30.0 and newer, not in this one; `--calculate-kv-scales` is in vLLM 0.27.1 and older, not in this one",
      "Take `--kda-decode-backend` out, or take an image of such a release. Take `--calculate-kv-scales` out, or take an image of such a release.",
    ],
    [
      "a spelling that only a newer version has",
      ["vLLM API server version 0.30.0", `vllm: ${REFUSED} --disable-log-requests`],
      "`--disable-log-requests` is in vLLM 0.33.0 and newer, not in this one",
      "Write `--no-enable-log-requests`, which older releases take, too.",
    ],
    [
      "a flag that no version has",
      [`vllm: ${REFUSED} --swap-space 16`],
      unknown("--swap-space"),
      "Take `--swap-space` out.",
    ],
    [
      "JSON in a word, in which nothing is an option",
      ["vLLM API server version 0.30.0", `vllm: ${REFUSED} --reasoning-config {"a": " -- b"}`],
      "`--reasoning-config` and its value came as one word, with a blank inside",
      twoWords("--reasoning-config", "VALUE"),
    ],
    [
      "a value of a switch",
      [`vllm: ${REFUSED} true`],
      "`true` stands behind a switch, which takes no value",
      "Leave the word out; `--no-NAME` in place of `--NAME` turns a switch off.",
    ],
  ])("%s", async (_, lines, why, instead) => {
    const [found, ...others] = await ofLines(...lines);
    expect(others).toEqual([]);
    const version = /version (\S+)/.exec(lines[0] ?? "")?.[1];
    expect(found).toMatchObject({
      id: "argument-unknown",
      cause: `vLLM${version === undefined ? "" : ` ${version}`} ${GIVEN} ${why}.`,
      advice: instead,
      command: "serving fit command.sh",
    });
  });

  it("prints no secret", async () => {
    const found = await ofLines(
      `vllm: ${REFUSED} --api-key sk-abcdefghijklmnop1234567890 hf_abcdefghijklmnopqrstuvwxyz`,
    );
    expect(found.map(({ id }) => id)).toEqual(["argument-unknown"]);
    expect(JSON.stringify(found)).not.toMatch(/sk-abc|hf_abc/);
  });

  it("tells eight one by one, of any number", async () => {
    const flags = Array.from({ length: 2000 }, (_, at) => `--q${at}z`);
    const before = process.cpuUsage();
    const [found] = await ofLines(`vllm: ${REFUSED} ${flags.join(" ")}`);
    const { user, system } = process.cpuUsage(before);
    expect(found?.cause).toMatch(/ has it; \d+ more aren't told here\.$/);
    expect((user + system) / 1e6).toBeLessThan(2);
  });

  it("names the server of a stack file, and takes its version from there", async () => {
    const line = `vllm: ${REFUSED} --log-level info\n`;
    const log = await scanLog({ name: "server.log", kind: "file" }, [line], SIGNS);
    const [found] = reportsOf({ logs: [log], stack: stackOf() });
    expect(found).toMatchObject({
      cause: `vLLM 0.30.0 ${GIVEN} \`--log-level\` is in vLLM 0.31.0 and newer, not in this one.`,
      advice:
        "Take `--log-level` out, or take an image of such a release. They stand in `extraArgs` of inferenceServers.b, or in a setting: `serving plan --full` shows the whole command line.",
      command: "serving plan && serving up",
    });
  });
});
