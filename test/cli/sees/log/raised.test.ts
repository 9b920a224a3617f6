import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scanLog } from "../../../../cli/sees/log/scanLog";
import { OPENS, READY } from "../../../../cli/sees/log/sign";
import { heldMemory } from "../../../layers/heldMemory";

const ABOUT = { name: "test", kind: "file" } as const;
const MIB = 1024 ** 2;
const OPEN = "start gate: open after 0 s, 99.00 GiB are available";
const UP = "INFO:     Application startup complete.";
const ARGUMENTS = "(APIServer pid=1) INFO 11-24 06:11:57 [a.py:1] non-default args: {'port': 8001}";

/** A traceback that ends in this, as a process prints it. */
const raising = (what: string, process = "APIServer pid=1", frame = "vllm/x.py") => [
  `(${process}) Traceback (most recent call last):`,
  `(${process})   File "/usr/lib/python3/dist-packages/${frame}", line 7, in f`,
  `(${process})     assert a == b`,
  `(${process})            ^^^^^^`,
  ...what.split("\n").map((line) => `(${process}) ${line}`),
];

/** The same, as vLLM's logger writes it. */
const logging = (intro: string, what: string, process = "EngineCore pid=2") =>
  [intro, ...raising(what).map((line) => line.replace(/^\(.*?\) /, ""))].map(
    (line) => `(${process}) ERROR 11-24 06:11:57 [core.py:1372] ${line}`,
  );

const found = async (lines: readonly string[]) =>
  (await scanLog(ABOUT, [`${lines.join("\n")}\n`], [])).raised;

const GONE = raising(
  "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
);

describe("the last word of a program", () => {
  it.each([
    ["an exception", raising("ValueError: no such thing"), "no such thing"],
    ["one whose class says more", raising("zmq.error.ZMQError: in use"), "ZMQError: in use"],
    ["one without words", raising("MemoryError"), "MemoryError"],
    ["one of a private class", raising("a._NoOp: op x"), "_NoOp: op x"],
    ["an iterator that is empty", raising("StopIteration"), "StopIteration"],
    [
      "one over several lines",
      raising("OSError: a gated repo.\n403 Client Error."),
      "a gated repo. 403 Client Error.",
    ],
    [
      "pydantic, of the whole",
      raising(
        "pydantic_core.ValidationError: 1 validation error for ModelConfig\n  Value error, Unknown method: x\nPlease choose. [type=value_error, input_value=1]\n    For further information",
      ),
      "Unknown method: x Please choose.",
    ],
    [
      "pydantic, of a field",
      raising(
        "pydantic_core.ValidationError: 1 validation error for C\nshare\n  Input should be less than 1 [type=less_than, input_value=2]",
      ),
      "share: Input should be less than 1",
    ],
    [
      "argparse",
      ["usage: vllm serve", "vllm serve: error: unrecognized arguments: --x"],
      "unrecognized arguments: --x",
    ],
    [
      "a worker's error",
      logging(
        "EngineCore encountered a fatal error.",
        "RuntimeError: Worker failed with error 'too small', please check the stack trace above for the root cause",
      ),
      "too small",
    ],
    [
      "Rust",
      ["thread 'main' (3) panicked at src/a.rs:1:2:", "index out of bounds"],
      "src/a.rs:1:2: index out of bounds",
    ],
    [
      "Rust before 1.73",
      ["thread 'main' panicked at 'index out of bounds', src/a.rs:1:2"],
      "index out of bounds",
    ],
    [
      "C++",
      [
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "  what():  std::bad_alloc",
      ],
      "std::bad_alloc: std::bad_alloc",
    ],
    ["the C library", ["double free or corruption (out)"], "double free or corruption (out)"],
    ["Python's own", ["Fatal Python error: Segmentation fault"], "Segmentation fault"],
    [
      "a signal",
      [
        "(EngineCore pid=2) ERROR 11-24 06:11:57 [m.py:1] Worker proc VllmWorker-0 died unexpectedly, exit code -11",
      ],
      "VllmWorker-0 ended by signal 11 (SIGSEGV, a segmentation fault)",
    ],
    [
      "the loader",
      ["vllm: error while loading shared libraries: libx.so.1: cannot open"],
      "libx.so.1: cannot open",
    ],
    [
      "argparse, of an argument that is an object",
      [
        "vllm serve: error: argument --compilation-config: 1 validation error for CompilationConfig",
        "  Value error, no such mode [type=value_error, input_value=7, input_type=int]",
      ],
      "argument --compilation-config: 1 validation error for CompilationConfig: no such mode",
    ],
    ["Docker's client", ["docker: invalid reference format"], "invalid reference format"],
    [
      "Docker without its daemon",
      ["Cannot connect to the Docker daemon at unix:///run/docker.sock. Is it running?"],
      "Cannot connect to the Docker daemon at unix:///run/docker.sock. Is it running?",
    ],
    [
      "Docker",
      ["docker: Error response from daemon: OCI runtime create failed: no such device"],
      "OCI runtime create failed: no such device",
    ],
  ])("is that of %s", async (_name, lines, words) => {
    expect(await found(lines)).toMatchObject({ isEnd: true, said: words });
  });

  it("is what was raised last of a chain, with what was raised first", async () => {
    const chain = [
      ...raising("KeyError: 'FLASHINFR'"),
      "(APIServer pid=1) ",
      "(APIServer pid=1) During handling of the above exception, another exception occurred:",
      "(APIServer pid=1) ",
      ...raising("ValueError: Unknown backend"),
    ];
    expect(await found(chain)).toMatchObject({
      said: "Unknown backend",
      first: "KeyError: 'FLASHINFR'",
      firstLineNumber: 1,
    });
  });

  it("is that of the process that failed first, however the others' lines come between", async () => {
    const worker = logging("WorkerProc failed to start.", "AssertionError", "Worker pid=4");
    const other = logging("WorkerProc failed to start.", "KeyError: 'x'", "Worker pid=5");
    const mixed = worker.flatMap((line, index) => [line, other[index - 1] ?? "noise"]);
    const lines = [...mixed, ...GONE];
    expect(await found(lines)).toMatchObject({
      said: "AssertionError",
      process: "Worker pid=4",
      at: "vllm/x.py:7: assert a == b",
    });
  });

  it.each([
    [
      "a warning with a traceback",
      logging("could not import", "ImportError: x").map((line) => line.replace("ERROR", "WARNING")),
    ],
    [
      "what a request raised",
      [
        ...raising("ValueError: x"),
        '(APIServer pid=1) INFO:     1.1.1.1:1 - "GET /health HTTP/1.1" 200 OK',
      ],
    ],
    ["what came up all the same", [...raising("ValueError: x"), UP]],
    ["an end that was asked for", raising("KeyboardInterrupt")],
    ["only what points to a cause", GONE],
    ["text", ["hello", "Errors happen: see the manual"]],
  ])("is none for %s", async (_name, lines) => {
    const { raised } = await scanLog(ABOUT, [`${lines.join("\n")}\n`], [READY]);
    expect(raised).toBeUndefined();
  });

  it("is no end where it was only logged", async () => {
    expect(await found(logging("Error in preprocessing", "ValueError: x"))).toMatchObject({
      isEnd: false,
      said: "x",
    });
  });

  it("is what was logged, where something else says that a process ended", async () => {
    const lines = ["(EngineCore pid=2) ERROR 11-24 06:11:57 [core.py:1] OSError: x", ...GONE];
    expect(await found(lines)).toMatchObject({ isEnd: true, said: "x" });
  });
});

describe("a server that had served and crashed", () => {
  const crash = logging("EngineCore encountered a fatal error.", "IndexError: x").join("\n");
  const last = async (...lines: string[]) =>
    (await scanLog(ABOUT, [`${lines.join("\n")}\n`], [READY, OPENS])).raised;

  it.each([
    ["behind its gate", OPEN],
    ["without a gate", ARGUMENTS],
  ])("is remembered when it was started again and serves: %s", async (_name, start) => {
    const raised = await last(start, UP, crash, start, UP);
    expect(raised).toMatchObject({ said: "IndexError: x", afterServing: true });
    expect(await last(start, crash, start, UP)).toBeUndefined();
  });

  it("is forgotten once a later start served and ended without a word", async () => {
    expect(await last(OPEN, UP, crash, OPEN, UP, OPEN, UP)).toBeUndefined();
  });
});

describe("whatever the text", () => {
  const pieces = fc.constantFrom(
    ...raising("ValueError: x"),
    ...logging("failed to start", "pydantic.ValidationError: 2 validation errors for X"),
    "During handling of the above exception, another exception occurred:",
    "thread 'a' panicked at src/x.rs:1:1:",
    "  | ValueError: of a group",
    '{"log":"Traceback (most recent call last):\\n","stream":"stderr"}',
    "  what():  y",
    UP,
    OPEN,
    "",
  );

  it("the reader ends, and returns one cause or none", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(pieces, fc.string({ unit: "binary" })), { maxLength: 60 }),
        async (lines) => {
          const text = (await found(lines))?.said;
          expect(text === undefined || text.length <= 2100).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("50 MB of it are read in linear time and bounded memory", async () => {
    const block = [
      // Tracebacks that never end, chains without an end, and lines made to be hard.
      "(Worker pid=2) Traceback (most recent call last):",
      '(Worker pid=2)   File "x", line 1',
      ...raising("ValueError: x"),
      "(APIServer pid=1) During handling of the above exception, another exception occurred:",
      `vllm ${"vllm ".repeat(80)}error`,
      `${"a.".repeat(200)}B`,
      `(A${" a".repeat(200)} pid=1) Error`,
      "",
    ].join("\n");
    const chunk = Buffer.from(block.repeat(Math.ceil(MIB / block.length)));
    const before = heldMemory();
    const held: number[] = [];
    function* stream() {
      for (let sent = 0; sent < 50 * MIB; sent += chunk.length) {
        if (sent % (10 * MIB) < chunk.length) held.push(heldMemory());
        yield chunk;
      }
    }
    const started = process.cpuUsage();
    await scanLog(ABOUT, stream(), [READY], { seconds: 100 });
    const used = process.cpuUsage(started);
    expect((used.user + used.system) / 1e6).toBeLessThan(20);
    expect(held.length).toBeGreaterThanOrEqual(4);
    expect(Math.max(...held) - before).toBeLessThan(20 * MIB);
  }, 120_000);
});
