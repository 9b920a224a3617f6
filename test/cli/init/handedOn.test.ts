import { WrongUse } from "@local-serving/base/commandLine/exit";
import { describe, expect, it } from "vitest";
import { launchesIn } from "../../../cli/init/command/launch";
import { asWritten, expansions } from "../../../cli/init/command/words";
import { readPublished } from "../../../cli/init/from/published";

const IMAGE = "vllm/vllm-openai:v0.30.0";
const SERVE = "vllm serve a/b --port 8001";
const WORDS = ["a/b", "--port", "8001"];

/** The servers that a text starts, with their variables. */
const started = (text: string) =>
  launchesIn(text).launches.map(({ words, variables, image }) => ({
    words,
    variables: Object.fromEntries(variables),
    ...(image === undefined ? {} : { image }),
  }));

describe("variables that a start sets itself", () => {
  const set = { A: "1", B: "x 2" };

  it.each([
    ["exported in a shell", `bash -c "export A=1 B='x 2' && ${SERVE}"`],
    ["in front in a shell", `bash -lc "A=1 B='x 2' ${SERVE}"`],
    ["around a shell and in it", `A=1 bash -c 'export B="x 2"; exec ${SERVE}'`],
    ["of another variable", `X=1 bash -c 'export A=$X; B="x 2" exec ${SERVE}'`],
    ["by env", `/usr/bin/env -i -u HOME A=1 B='x 2' ${SERVE}`],
  ])("are the server's: %s", (_, text) => {
    const [{ words, variables } = { words: [], variables: {} }, ...others] = started(text);
    const { X: _x, ...own } = variables as Record<string, string>;
    expect({ words, own, others }).toEqual({ words: WORDS, own: set, others: [] });
  });

  it.each([
    ["of a container", `docker run --entrypoint sh ${IMAGE} -c "export A=1; B='x 2' ${SERVE}"`],
    ["of a container that is there", `docker exec -e A=1 c bash -c "B='x 2' ${SERVE}"`],
    ["behind ssh", `ssh -p 22 me@spark.local "A=1 B='x 2' ${SERVE}"`],
  ])("are all that a server %s has", (_, text) => {
    expect(started(`export HOST_ONLY=1\n${text}`)).toEqual([
      expect.objectContaining({ words: WORDS, variables: set }),
    ]);
  });

  it("belong to the server that they stand before", () => {
    const text = `bash -c "export A=1; B=2 vllm serve a/b & vllm serve c/d"`;
    expect(started(text).map(({ variables }) => variables)).toEqual([
      { A: "1", B: "2" },
      { A: "1" },
    ]);
  });

  it("are read of a compose file's, a unit's and a manifest's shell", () => {
    const script = `export A=1; exec vllm serve a/b --port $P`;
    for (const text of [
      `services:\n  c:\n    image: ${IMAGE}\n    environment: {P: 8001}\n    entrypoint: [bash, -c]\n    command: ["${script.replace("$P", "$$$$P")}"]\n`,
      `[Service]\nExecStart=/bin/bash -c "P=8001; ${script.replace("$P", "$$$$P")}"\n`,
      `apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n    - {name: c, image: ${IMAGE}, env: [{name: P, value: "8001"}], command: [sh, -c], args: ["${script}"]}\n`,
    ]) {
      const { words, variables } = readPublished({ text });
      expect([words, variables.get("A")]).toEqual([WORDS, "1"]);
    }
  });
});

describe("a command that a program hands on", () => {
  it("has what nobody knows as it was written", () => {
    const [launch] = launchesIn('ssh me@h "vllm serve $MODEL --port $PORT"').launches;
    expect(launch?.words.map(expansions)).toEqual([["$MODEL"], [], ["$PORT"]]);
    expect(launch?.words.map(asWritten)).toEqual(["$MODEL", "--port", "$PORT"]);
  });

  it.each([
    ["tmux, one word", `tmux new-session -d -s vllm '${SERVE}'`],
    ["tmux, several words", `tmux new -ds vllm ${SERVE}`],
    ["tmux's keys", `tmux send-keys -t vllm "${SERVE}" Enter`],
    ["ssh's words", `ssh -i key me@spark.local ${SERVE}`],
    ["another user's shell", `sudo su - llm -c "${SERVE}"`],
    ["another user", `sudo -u llm ${SERVE}`],
    ["a pod that is there", `kubectl -n ai exec -it pod -- ${SERVE}`],
  ])("is read: %s", (_, text) => {
    expect(started(text)).toEqual([{ words: WORDS, variables: {} }]);
  });

  it.each([
    [`kubectl run v --image=${IMAGE} --env=A=1 -- a/b --port 8001`, { A: "1" }],
    [`kubectl run v --image ${IMAGE} --command -- ${SERVE}`, {}],
    [`ssh me@spark.local "docker run --gpus all ${IMAGE} a/b --port 8001"`, {}],
    [`sudo -u llm docker --context far run -e A=1 ${IMAGE} a/b --port 8001`, { A: "1" }],
    [`/usr/bin/env -i PATH=/bin docker run ${IMAGE} a/b --port 8001`, {}],
  ])("is read with its image: %s", (text, variables) => {
    expect(started(text)).toEqual([{ words: WORDS, variables, image: IMAGE }]);
  });

  it("is followed only so deep", () => {
    for (const program of ["ssh h ", "docker exec c ", "tmux new "])
      expect(started(`${program.repeat(3000)}ls`)).toEqual([]);
  });

  it("says on which machine it ran, and how to look at that one", () => {
    expect(launchesIn(`ssh me@spark.local ${SERVE}`).launches[0]?.told).toEqual([
      "The command starts it on me@spark.local by ssh: with `--on ssh://me@spark.local`, `serving init` looks at that machine.",
    ]);
  });

  it("is read of a unit", () => {
    const text = `[Service]\nExecStart=/usr/bin/env -i A=1 /usr/bin/docker run ${IMAGE} a/b --port 8001\n`;
    expect(readPublished({ text })).toMatchObject({ words: WORDS, image: IMAGE });
  });
});

describe("beside a start", () => {
  it.each([
    "docker run -d redis",
    "systemctl stop llama-server",
    "git clone https://github.com/ggml-org/llama.cpp",
    "docker network create vllm-net",
    "docker volume create vllm",
    'pkill -f "vllm serve"',
    'ps aux | grep "vllm serve"',
  ])("%s is passed over", (beside) => {
    expect(started(`${beside}; ${SERVE}`)).toEqual([{ words: WORDS, variables: {} }]);
  });

  it("names what a shell runs before it, and nothing behind it", () => {
    const text = `bash -c "pip install x && ${SERVE} 2>&1 | tee -a vllm.log"`;
    expect(launchesIn(text).launches[0]?.leftOut.map(({ what }) => what)).toEqual([
      "`pip install x`",
    ]);
  });

  it.each([
    [
      "docker model run ai/smollm2-vllm hi",
      "It starts Docker Model Runner, not vLLM. It chooses its engine and arguments by itself: give `vllm serve MODEL` with the model's id at the hub, or declare its memory as the machine's `otherGpuMemoryGiB`.",
    ],
    [
      `docker run --entrypoint bash ${IMAGE} -lc "cd /w && bash scripts/serve.sh"`,
      "Its container runs `scripts/serve.sh`, which isn't read here: give that script, or the `vllm serve` that it runs.",
    ],
  ])("%s is named for what it is", (text, why) => {
    expect(() => launchesIn(text)).toThrow(new WrongUse(`--from-command: ${why}`));
  });

  it("passes over `serve` behind a script of the image's", () => {
    const text = `docker run --entrypoint python3 ${IMAGE} /opt/w.py serve a/b --port 8001`;
    expect(started(text)).toEqual([{ words: WORDS, variables: {}, image: IMAGE }]);
  });
});

describe("a container that waits for commands", () => {
  const run = (options: string, command = "") =>
    `docker run ${options} --name llm -p 8001:8000 -v /m:/models -e A=1 ${IMAGE} ${command}`;
  const started = (text: string) =>
    launchesIn(text).launches.map(({ words, image, container, variables, leftOut, from }) => ({
      argv: words.join(" "),
      image,
      ports: [...(container?.ports ?? [])],
      volumes: container?.volumes.map(({ target }) => target) ?? [],
      variables: [...variables],
      leftOut: leftOut.map(({ what }) => what),
      from,
    }));
  const server = {
    argv: "/models/a",
    image: IMAGE,
    ports: [[8000, 8001]],
    volumes: ["/models"],
    variables: [["A", "1"]],
    leftOut: [],
    from: 1,
  };

  it.each([
    ["without arguments", `${run("-td")}\ndocker exec -it llm vllm serve /models/a`],
    ["asleep", `${run("-d", "sleep infinity")}\ndocker exec llm bash -c "vllm serve /models/a"`],
    ["with a shell", `${run("-it", "/bin/bash")}\nvllm serve /models/a`],
    ["with a shell for its program", `${run("-it --entrypoint bash")}\nvllm serve /models/a`],
    ["entered later", `${run("-itd", "bash")}\ndocker exec -it llm bash\nvllm serve /models/a`],
    ["by an id", `${run("-td")}\ndocker exec -it $ID bash\nvllm serve /models/a`],
  ])("gives its options to what runs in it: %s", (_, text) => {
    expect(started(text)).toEqual([server]);
  });

  it("gives it what was prepared inside, and the variables of `docker exec`", () => {
    const text = `${run("-td")}\ndocker exec llm pip install x\ndocker exec -e B=2 llm vllm serve /models/a`;
    const variables = [
      ["A", "1"],
      ["B", "2"],
    ];
    expect(started(text)).toEqual([{ ...server, variables, leftOut: ["`pip install x`"] }]);
  });

  it("has what its shell hands on, and nothing of the one outside", () => {
    const text = `export X=1\n${run("-it", "bash")}\nexport B=2\nC=3 vllm serve /models/a`;
    const variables = [
      ["A", "1"],
      ["B", "2"],
      ["C", "3"],
    ];
    expect(started(text)).toEqual([{ ...server, variables, from: 2 }]);
  });

  it("gives nothing to what runs outside", () => {
    const outside = { argv: "a/b", image: undefined, ports: [], volumes: [], variables: [] };
    for (const text of [
      `${run("-d", "sleep infinity")}\nvllm serve a/b`,
      `${run("-it", "bash")}\nexit\nvllm serve a/b`,
      `${run("-td", "bash")}\ndocker exec other vllm serve a/b`,
    ])
      expect(started(text)).toMatchObject([outside]);
  });
});
