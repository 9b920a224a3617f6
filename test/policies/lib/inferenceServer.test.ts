import { groupOf } from "@local-serving/vllm/argv/group";
import { UNKNOWN } from "@local-serving/vllm/argv/unknown";
import { describe, expect, it } from "vitest";
import { TYPE } from "../../../components/planned/type";
import { readContainer, readDeclared, serversIn } from "../../../policies/lib/inferenceServer";
import { DIGEST, IMAGE } from "../declared";

type Props = Record<string, unknown>;

/** An image whose name says nothing. */
const OWN = { image: "own/x:1" };
const ALL = { gpus: "all" };
const check = (...tests: string[]) => ({ healthcheck: { tests } });

/** How a container is read: its servers by what is on their command lines. */
function read(props: Props, name = "b") {
  const reading = readContainer({ type: TYPE.container, name, props });
  return reading.kind === "yes"
    ? { ...reading, servers: reading.servers.map(({ words }) => words.join(" ")) }
    : reading;
}

const NO = { kind: "no" };
const starts = (...servers: string[]) => ({ kind: "yes", servers, unreadable: [] });
const hides = (...unreadable: string[]) => ({ kind: "yes", servers: [], unreadable });
const mayBe = (...unreadable: string[]) => ({ kind: "possible", unreadable });

const NOT_TOLD = "its image is not known before the update; give `image` as plain text";
const NOT_KNOWN =
  "its `entrypoints` or `command` is not known before the update; give them as plain text";
const NO_SERVE = "no `vllm serve` can be read from its entrypoint";
const MENTIONED = "an argument mentions vLLM in a form that can't be read";
const STARTED = "its script, file or health check starts vLLM; start vLLM by `command`";

describe("a script that several containers have", () => {
  const SCRIPT = ["sh", "-c", 'vllm serve org/m --port 8001 --gpu-memory-utilization "$SHARE"'];
  const words = (props: Props) => {
    const reading = readContainer({ type: TYPE.container, name: "b", props });
    return reading.kind === "yes" ? reading.servers.map((server) => server.words) : [];
  };
  const by = (envs: unknown) => words({ ...OWN, ...ALL, entrypoints: SCRIPT, envs });
  const of = (word: unknown) =>
    words({ ...OWN, ...ALL, entrypoints: ["vllm", "serve"], command: ["org/m", word] });

  it("is read anew for each value of its variables", () => {
    const server = (share: string) => [
      ["org/m", "--port", "8001", "--gpu-memory-utilization", share],
    ];
    expect(by(["SHARE=0.4"])).toEqual(server("0.4"));
    expect(by(["SHARE=0.6"])).toEqual(server("0.6"));
    expect(by(["SHARE=0.4"])).toEqual(server("0.4"));
  });

  it("is read anew for each text of it, known or not", () => {
    expect(of("--port=8001")).toEqual([["org/m", "--port=8001"]]);
    expect(of("--port=8002")).toEqual([["org/m", "--port=8002"]]);
    // An unknown word is no text, whatever it is called.
    expect(of(UNKNOWN)).toEqual([["org/m", UNKNOWN]]);
    expect(of(UNKNOWN.description)).toEqual([["org/m", UNKNOWN.description]]);
    expect(of(UNKNOWN)).toEqual([["org/m", UNKNOWN]]);
  });
});

describe("a health check", () => {
  it.each<[string, Props, object]>([
    ["starts a server", { ...OWN, ...check("CMD", "vllm", "serve", "org/m") }, starts("org/m")],
    [
      "starts one beside another",
      { image: IMAGE, command: ["m"], ...check("vllm", "serve", "n") },
      starts("m", "n"),
    ],
    [
      "starts one where nothing else is known",
      { ...ALL, ...check("vllm", "serve", "n") },
      { ...starts("n"), unreadable: [NOT_TOLD] },
    ],
    [
      "starts a wrapper with a share",
      { ...OWN, ...check("x", "--gpu-memory-utilization=0.9") },
      starts("--gpu-memory-utilization=0.9"),
    ],
    ["has other flags of vLLM's", { ...OWN, ...check("x", "--max-num-batched-tokens=9") }, NO],
    [
      "can't be read",
      { ...OWN, ...check("CMD-SHELL", "x 'vllm serve m'") },
      hides(`in its health check, ${MENTIONED}`),
    ],
    [
      "has arguments that can't be read",
      { ...OWN, ...check("vllm", "serve", "m", "--config", "x") },
      {
        ...starts("m --config x"),
        unreadable: ["`--config` takes options from a file that can't be read here"],
      },
    ],
  ])("%s", (_, props, reading) => expect(read(props)).toEqual(reading));
});

describe("vLLM's own image", () => {
  it.each<[string, Props, object]>([
    ["takes the command as arguments", { command: ["m", "--port", "1"] }, starts("m --port 1")],
    ["has a command that can't be read", { command: ["x; vllm serve m"] }, hides(MENTIONED)],
    [
      "has an entrypoint that is not known",
      { entrypoints: UNKNOWN, command: ["m"] },
      hides("its entrypoint or command is not known before the update"),
    ],
    ["has another entrypoint", { entrypoints: ["/start.sh"], command: ["m"] }, hides(NO_SERVE)],
    [
      "has a wrapper",
      { entrypoints: ["/start.sh"], command: ["--gpu-memory-utilization=0.9"] },
      starts("--gpu-memory-utilization=0.9"),
    ],
    [
      "has a wrapper with a word that can't be read",
      { entrypoints: ["/start.sh"], command: ["x; vllm serve m", "--gpu-memory-utilization=0.9"] },
      { ...starts("--gpu-memory-utilization=0.9"), unreadable: [MENTIONED] },
    ],
  ])("%s", (_, props, reading) => expect(read({ image: IMAGE, ...props })).toEqual(reading));
});

describe("an image of another name", () => {
  const vllm = { ...ALL, envs: ["VLLM_USE_V1=1"] };
  it.each<[string, Props, object]>([
    ["without GPUs", { ...OWN, command: ["x"], uploads: [{ content: "vllm serve m" }] }, NO],
    ["with GPUs alone", { ...OWN, ...ALL, command: ["x"] }, NO],
    ["with a variable of vLLM", { ...OWN, ...vllm }, starts("")],
    [
      "with a variable of vLLM, and its own entrypoint",
      { ...OWN, ...vllm, entrypoints: ["x"] },
      hides(NO_SERVE),
    ],
    [
      "that is not known, with a variable of vLLM and one word",
      { ...vllm, entrypoints: ["x"] },
      hides(NO_SERVE),
    ],
    ["that is not known, with a variable of vLLM and no word", vllm, mayBe(NOT_TOLD)],
    [
      "with vLLM's name in capitals",
      { image: "own/my.VLLM:1", ...ALL, command: ["x"] },
      starts("x"),
    ],
    ["with vLLM's name inside a word", { image: "own/evllm:1", ...ALL }, NO],
    [
      "with a variable that is called as an option of vLLM's",
      { ...OWN, ...ALL, envs: ["max-num-batched-tokens=1"] },
      NO,
    ],
    [
      "with vLLM's words in a variable",
      { ...OWN, ...ALL, entrypoints: ["/x"], envs: ["RUN=vllm serve m"] },
      hides("its variable RUN holds arguments of vLLM; move them to `command`"),
    ],
    [
      "with vLLM's flags in a variable",
      { ...OWN, ...ALL, entrypoints: ["/x"], envs: ["RUN=--max-num-batched-tokens 1"] },
      hides("its variable RUN holds arguments of vLLM; move them to `command`"),
    ],
    [
      "with a flag of vLLM's inside a word of a variable",
      { ...OWN, ...ALL, entrypoints: ["/x"], envs: ["RUN=x--max-num-batched-tokens"] },
      NO,
    ],
    [
      "with vLLM that a health check looks for",
      { ...OWN, ...ALL, entrypoints: ["/x"], ...check("CMD-SHELL", "which vllm") },
      hides(STARTED),
    ],
    [
      "with an option of several words that only vLLM has",
      { ...OWN, ...ALL, entrypoints: ["/x"], command: ["--lora-modules", "a"] },
      starts("--lora-modules a"),
    ],
    [
      "with vLLM in a file",
      { ...OWN, ...ALL, entrypoints: ["/x"], uploads: [{ content: "vllm serve m" }] },
      hides(STARTED),
    ],
    [
      "with a share inside a word",
      { ...OWN, ...ALL, command: ["x--gpu-memory-utilization=0.9"] },
      NO,
    ],
    ["with a word that can't be read", { ...OWN, command: ["x; vllm serve m"] }, hides(MENTIONED)],
  ])("%s", (_, props, reading) => expect(read(props)).toEqual(reading));
});

describe("what is not known yet", () => {
  const ipc = { ipcMode: "host" };
  it.each<[string, Props, object]>([
    ["an image, with nothing that speaks for a server", {}, NO],
    ["an image, with the host's memory", ipc, mayBe(NOT_TOLD)],
    ["an image, with a known program", { ...ipc, command: ["x"] }, NO],
    ["an image, with flags alone", { ...ipc, command: ["--x"] }, mayBe(NOT_TOLD)],
    ["an image, with a flag that ends in a dash", { ...ipc, command: ["x-"] }, NO],
    [
      "an image, with a known program and a word that is not",
      { ...ipc, command: ["x", UNKNOWN] },
      mayBe(NOT_TOLD, NOT_KNOWN),
    ],
    ["a command", { ...ipc, ...OWN, command: UNKNOWN }, mayBe(NOT_KNOWN)],
    ["an image, beside a variable of vLLM's", { envs: ["A=1", "VLLM_X=1"] }, mayBe(NOT_TOLD)],
    ["an image, beside a variable that ends like vLLM's", { envs: ["A=1", "MY_VLLM_X=1"] }, NO],
    ["an image, in a container called so", { name: "my-vllm" }, mayBe(NOT_TOLD)],
    ["an image that is none", { ...ipc, image: `sha256:${"0".repeat(64)}` }, mayBe(NOT_TOLD)],
  ])("%s", (_, props, reading) => expect(read({ image: UNKNOWN, ...props })).toEqual(reading));

  it("an image, in a resource called so", () => {
    expect(read({ image: UNKNOWN, name: "b" }, "VLLM")).toEqual(mayBe(NOT_TOLD));
    expect(read({ image: UNKNOWN, name: "lm" }, "vl")).toEqual(NO);
  });
});

describe("engines that serve nobody", () => {
  /** The shares of the engines that are counted of a container, and its kind. */
  const shares = (props: Props) => {
    const { kind, ...reading } = readContainer({ type: TYPE.container, name: "b", props });
    const engines = "engines" in reading ? (reading.engines ?? []) : [];
    return [kind, ...engines.map(({ args }) => args.options.get("gpu-memory-utilization")?.[0])];
  };
  const EVAL = ["lm_eval", "--model", "vllm"];
  const BENCH = ["vllm", "bench", "latency", "--gpu-memory-utilization", "0.3"];

  it.each<[string, Props, unknown[]]>([
    ["a program", { ...OWN, ...ALL, command: EVAL }, ["no", "0.9"]],
    ["a program without GPUs", { ...OWN, command: EVAL }, ["no"]],
    ["a benchmark of vLLM's", { ...OWN, ...ALL, command: BENCH }, ["no", "0.3"]],
    ["one in vLLM's own image", { image: IMAGE, ...ALL, entrypoints: BENCH }, ["no", "0.3"]],
    ["one there without GPUs", { image: IMAGE, entrypoints: BENCH }, ["no"]],
    [
      "one there, behind what is known",
      { image: IMAGE, ...ALL, entrypoints: ["sh", "-c"], command: [`sleep 1; ${BENCH.join(" ")}`] },
      ["no", "0.3"],
    ],
    [
      "one beside a server",
      { ...OWN, ...ALL, command: ["sh", "-c", `vllm serve m & ${EVAL.join(" ")}`] },
      ["yes", "0.9"],
    ],
    ["one in a health check", { ...OWN, ...ALL, ...check("CMD", ...EVAL) }, ["no", "0.9"]],
    ["one of an image that is not known", { ...ALL, command: [...EVAL, UNKNOWN] }, ["no", "0.9"]],
    [
      "one with flags of vLLM's",
      { ...OWN, ...ALL, command: [...EVAL, "--max-num-batched-tokens", "1"] },
      ["no", "0.9"],
    ],
    [
      "one with vLLM's own option for the share",
      { ...OWN, ...ALL, command: ["trl", "vllm-serve", "--gpu_memory_utilization", "0.4"] },
      ["yes"],
    ],
    [
      "words that are only said",
      { ...OWN, ...ALL, command: ["echo", "gpu_memory_utilization=1"] },
      ["no"],
    ],
    [
      "words that are not",
      { ...OWN, ...ALL, command: ["x", "gpu_memory_utilization=1"] },
      ["no", "1"],
    ],
    [
      "one beside a wrapper with flags of vLLM's",
      { ...OWN, ...ALL, command: ["sh", "-c", `${EVAL.join(" ")}; x --max-num-batched-tokens 1`] },
      ["yes", "0.9"],
    ],
    [
      "one beside words that can't be read",
      { ...OWN, ...ALL, command: ["sh", "-c", `${EVAL.join(" ")}; x 'vllm serve m'`] },
      ["yes", "0.9"],
    ],
    [
      "one in vLLM's own image, behind a shell that reads what nobody knows",
      { image: IMAGE, ...ALL, entrypoints: ["sh", "-c"], command: [`sh; ${EVAL.join(" ")}`] },
      ["yes", "0.9"],
    ],
    [
      "none of what may be a server, since that is refused",
      { image: UNKNOWN, ...ALL, ...check("CMD", ...EVAL) },
      ["possible"],
    ],
    [
      "one in an image that speaks of vLLM",
      { image: "own/x:vllm", ...ALL, command: ["sh", "-c", `cd /x; ${EVAL.join(" ")}`] },
      ["no", "0.9"],
    ],
  ])("%s", (_, props, read) => expect(shares(props)).toEqual(read));
});

it("what a component of ours declares is a server, whatever it runs", () => {
  const props = { image: IMAGE, entrypoints: ["sleep"], command: ["1"] };
  const resource = { type: TYPE.container, name: "b", props };
  expect(readContainer(resource)).toEqual(NO);
  expect(readContainer({ ...resource, props: { ...props }, role: "inference-server" })).toEqual(
    hides(NO_SERVE),
  );
  const engine = { image: IMAGE, entrypoints: ["lm_eval", "--model", "vllm"] };
  expect(readContainer({ ...resource, props: engine, role: "inference-server" })).toEqual(
    hides(NO_SERVE),
  );
});

it("a machine component's server is read by its map of variables, known or not", () => {
  const environment = { A: UNKNOWN, RUN: "x" };
  expect(readDeclared({ ...OWN, command: ["x"], environment })).toEqual(NO);
  expect(readDeclared({ image: `vllm/vllm-openai@${DIGEST}`, command: [] }).kind).toBe("yes");
  expect(readDeclared({ image: UNKNOWN, command: UNKNOWN })).toEqual(mayBe(NOT_TOLD, NOT_KNOWN));
  const engine = readDeclared({ ...OWN, command: ["lm_eval", "--model", "vllm"] });
  expect(engine).toMatchObject({
    kind: "no",
    engines: [{ option: "gpu_memory_utilization in --model_args" }],
  });
});

describe("the rank of a server among several machines", () => {
  const rank = (...command: unknown[]) =>
    serversIn({
      type: TYPE.container,
      name: "b",
      props: { image: IMAGE, command: ["m", ...command] },
    }).map(groupOf);

  it("is none alone", () => {
    expect(rank("--nnodes", "1", "--node-rank", "0")).toEqual([undefined]);
  });

  it.each<[unknown[], object]>([
    [["--nnodes", "2"], { index: "0", nodes: "2" }],
    [["--node-rank", "1"], { index: "1", nodes: "1" }],
    [["--nnodes", UNKNOWN], { index: "0", nodes: "not known yet" }],
    [
      ["--nnodes", "2", "--master-addr", "10.0.0.1"],
      { index: "0", nodes: "2", address: "10.0.0.1", meetsAt: "10.0.0.1:29501" },
    ],
    [["--nnodes", "2", "--headless"], { index: "0", nodes: "2", headless: true }],
  ])("is read from %o", (command, read) => {
    const alone = {
      address: "127.0.0.1",
      meetsAt: "127.0.0.1:29501",
      port: 29501,
      headless: false,
    };
    expect(rank(...command)).toEqual([{ ...alone, ...read }]);
  });
});
