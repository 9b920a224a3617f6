import { describe, expect, it } from "vitest";
import { serverInvocations } from "../../argv/serverInvocations";
import { SOME_WORDS, UNKNOWN, type Word } from "../../argv/unknown";

const VARIABLES = new Map<string, Word>([
  ["MODEL", "m"],
  ["SHARE", "0.5"],
  ["FLAGS", "--port 8001 --gpu-memory-utilization 0.5"],
]);
const find = (words: Word[]) => serverInvocations(words, VARIABLES);

describe("forms of starting a server", () => {
  const forms: [string, Word[], Word[][]][] = [
    ["vllm serve", ["vllm", "serve", "m", "--port", "1"], [["m", "--port", "1"]]],
    ["by path", ["/usr/local/bin/vllm", "serve", "m"], [["m"]]],
    ["behind env", ["env", "A=1", "vllm", "serve", "m"], [["m"]]],
    [
      "python -m",
      ["python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "m"],
      [["--model", "m"]],
    ],
    ["python -m vllm", ["python", "-m", "vllm.entrypoints.cli.main", "serve", "m"], [["m"]]],
    ["sh -c", ["sh", "-c", "vllm serve m --port 1"], [["m", "--port", "1"]]],
    ["bash -lc", ["/bin/bash", "-lc", "exec vllm serve m"], [["m"]]],
    ["bash, and its options' end", ["bash", "-c", "--", "vllm serve m"], [["m"]]],
    ["bash, and a dash", ["bash", "-c", "-", 'vllm serve "$1"', "x", "m"], [["m"]]],
    ["sh with an option behind", ["sh", "-c", "-o", "errexit", "-x", "vllm serve m"], [["m"]]],
    ["bash with options", ["bash", "-e", "-o", "pipefail", "-c", "vllm serve m"], [["m"]]],
    [
      'a gate and "$@"',
      [
        "/bin/sh",
        "-c",
        'while ! ready; do sleep 1; done\nexec vllm serve "$@"',
        "gate",
        "m",
        "--port",
        "1",
      ],
      [["m", "--port", "1"]],
    ],
    [
      "$1",
      ["sh", "-c", 'vllm serve "$1" --port "$2"', "x", "m", "8001"],
      [["m", "--port", "8001"]],
    ],
    ["behind &&", ["sh", "-c", "pip install x && vllm serve m"], [["m"]]],
    ["quotes", ["sh", "-c", `vllm serve 'm' --x '{"a": "b c"}'`], [["m", "--x", '{"a": "b c"}']]],
    ["line continuation", ["sh", "-c", "vllm serve m \\\n  --port 1"], [["m", "--port", "1"]]],
    ["redirections", ["sh", "-c", "vllm serve m --port 1 >/log 2>&1"], [["m", "--port", "1"]]],
    ["comment", ["sh", "-c", "# vllm serve old\nvllm serve m # --port 1"], [["m"]]],
    ["two servers", ["sh", "-c", "vllm serve a & vllm serve b"], [["a"], ["b"]]],
    ["shell in shell", ["sh", "-c", "bash -c 'vllm serve m'"], [["m"]]],
    [
      "variables of the container",
      ["sh", "-c", `vllm serve "$MODEL" --x=\${SHARE}`],
      [["m", "--x=0.5"]],
    ],
    [
      "a variable that is several words",
      ["sh", "-c", "vllm serve m $FLAGS"],
      [["m", "--port", "8001", "--gpu-memory-utilization", "0.5"]],
    ],
    ["a variable with a default", ["sh", "-c", `vllm serve "\${MODEL:-other}"`], [["m"]]],
    [
      "a variable that nothing sets",
      ["sh", "-c", 'vllm serve m --port "$PORT"'],
      [["m", "--port", UNKNOWN]],
    ],
    ["one without quotes", ["sh", "-c", "vllm serve m $MORE"], [["m", SOME_WORDS]]],
    [
      "one that the script sets",
      ["sh", "-c", 'SHARE=0.9; vllm serve m "$SHARE"'],
      [["m", UNKNOWN]],
    ],
    [
      "one that the script reads",
      ["sh", "-c", 'read SHARE; vllm serve m "$SHARE"'],
      [["m", UNKNOWN]],
    ],
    [
      "a command's output",
      ["sh", "-c", 'vllm serve m --port "$(cat /port)"'],
      [["m", "--port", UNKNOWN]],
    ],
    ["backticks", ["sh", "-c", "vllm serve m --port `cat /port`"], [["m", "--port", SOME_WORDS]]],
    [
      "replaced parameters",
      ["sh", "-c", 'set -- a; exec vllm serve "$@"', "x", "m"],
      [[SOME_WORDS]],
    ],
  ];
  it.each(forms)("%s", (_, words, servers) => {
    expect(find(words)).toMatchObject({ servers, unreadable: [] });
  });
});

describe("what is no server", () => {
  it.each([
    ["nginx", ["nginx", "-g", "daemon off;"]],
    ["a client of one", ["sh", "-c", "curl http://vllm:8000/health"]],
    ["another command of vLLM", ["vllm", "bench", "m"]],
    ["a message", ["sh", "-c", "echo 'waiting for vllm serve'; sleep 1"]],
    ["nothing", []],
  ])("%s", (_, words) => expect(find(words).servers).toEqual([]));

  it("leaves a client of a server readable", () => {
    expect(find(["sh", "-c", "curl http://vllm:8000/health"]).unreadable).toEqual([]);
  });
});

describe("what can't be read", () => {
  it.each([
    [
      "eval",
      ["sh", "-c", 'eval "vllm serve m"'],
      "an argument mentions vLLM in a form that can't be read",
    ],
    ["an unknown script", ["sh", "-c", UNKNOWN], "the script after `-c` is not known yet"],
    [
      "su -c",
      ["su", "user", "--command", "vllm serve m"],
      "an argument mentions vLLM in a form that can't be read",
    ],
  ] as [string, Word[], string][])("%s", (_, words, why) => {
    expect(find(words)).toMatchObject({ servers: [], unreadable: [why] });
  });
});
