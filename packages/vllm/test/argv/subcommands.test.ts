import { expect, it } from "vitest";
import { behindVllm, loadsEngine, printsVersions } from "../../argv/serverInvocations";
import { subcommandOf } from "../../argv/subcommands";
import { UNKNOWN } from "../../argv/unknown";
import { READ_VERSIONS, readsVersions } from "../../argv/versionReadings";

const words = (text: string) => text.split(" ");

it.each([
  ["serve m", "serves"],
  ["serve", "serves"],
  ["serve --help m", "serves"],
  ["serve m --help", "serves"],
  ["serve --help", "nothing"],
  ["serve -h", "nothing"],
  ["serve --help=all", "nothing"],
  ["serve --helpx", "serves"],
  ["serve --version", "nothing"],
  ["serve --version m", "serves"],
  ["run-batch -i x", "serves"],
  ["bench latency --model m", "loads"],
  ["bench throughput", "loads"],
  ["bench startup", "loads"],
  ["bench mm-processor", "loads"],
  ["bench latency --help", "nothing"],
  ["bench serve --model m", "nothing"],
  ["bench sweep plot", "nothing"],
  ["bench sweep serve", undefined],
  ["bench", undefined],
  ["chat --url x", "nothing"],
  ["complete", "nothing"],
  ["collect-env", "nothing"],
  ["launch render m", "nothing"],
  ["launch x", undefined],
  ["--version", "nothing"],
  ["--version serve", undefined],
  ["-v", "nothing"],
  ["--help", "nothing"],
  ["-h", "nothing"],
  ["new", undefined],
])("vllm %s: %s", (text, does) => expect(subcommandOf(words(text))?.does).toBe(does));

it("names the words of a subcommand, and none where a word is not known", () => {
  expect(subcommandOf(words("bench latency -h"))?.length).toBe(2);
  expect(subcommandOf([UNKNOWN])).toBeUndefined();
  expect(subcommandOf(["serve", UNKNOWN])?.does).toBe("serves");
});

it.each<[string, string[] | undefined]>([
  ["vllm chat", ["chat"]],
  ["/usr/local/bin/vllm chat", ["chat"]],
  ["xvllm chat", undefined],
  ["python3 -m vllm chat", ["chat"]],
  ["python3 -m vllm.entrypoints.cli.main chat", ["chat"]],
  ["python3 -m x chat", undefined],
  ["x -m vllm chat", undefined],
  ["python3 -x vllm chat", undefined],
  ["nice vllm chat", undefined],
])("behind vllm in %s: %o", (text, behind) => expect(behindVllm(words(text))).toEqual(behind));

it("an engine that serves nobody is found behind what runs it", () => {
  expect(loadsEngine(words("nice vllm bench latency"))).toBe(true);
  expect(loadsEngine(words("vllm serve m"))).toBe(false);
});

it.each([
  ["import vllm; print(vllm.__version__)", true],
  ["import vllm;print(vllm.__version__)", true],
  ["import vllm\nprint(vllm.__version__)", true],
  ["import torch, vllm, transformers; print(torch.__version__, vllm.__version__)", true],
  ["import torch,vllm;print('torch',torch.__version__,'cuda',torch.version.cuda)", true],
  [
    "import vllm; import transformers; print('vllm', vllm.__version__); print(transformers.__version__)",
    true,
  ],
  ['from importlib.metadata import version; print("vllm:", version("vllm"))', true],
  [
    "for m in ['vllm']:\n  try: print(m, __import__(m).__version__)\n  except Exception: print(m, 'MISSING')",
    true,
  ],
  [
    'import importlib\nfor m in ("torch", "vllm"):\n    try:\n        print(m, importlib.import_module(m).__version__)\n    except ImportError:\n        print(m, "MISSING")',
    true,
  ],
  [
    "for m in ['vllm']:\n  try: print(m, __import__(x).__version__)\n  except: print(m, 'MISSING')",
    false,
  ],
  [
    "for m in ['x']:\n  try: print(m, __import__(m).__version__)\n  except: print(m, 'MISSING')",
    false,
  ],
  ["import vllm; print(vllm.__version__) ", false],
  [" import vllm; print(vllm.__version__)", false],
  ["import vllm; print(vllm.__version__)\n", false],
  ["import vllm", false],
  ["import os; print(os.__version__)", false],
  ["import vllm; print(vllm.LLM('m'))", false],
  ["import vllm; print(f'{vllm.LLM()}')", false],
  ["import vllm; print('a' 'b', exit())", false],
  [READ_VERSIONS, true],
  [`${READ_VERSIONS}\n`, false],
])("%j prints versions: %s", (text, reads) => {
  expect(readsVersions(text)).toBe(reads);
  expect(printsVersions(["python3", "-c", text])).toBe(reads);
});

it("Python prints versions with nothing else among its words", () => {
  const text = "import vllm; print(vllm.__version__)";
  expect(printsVersions(["/usr/bin/python3.12", "-I", "-c", text])).toBe(true);
  expect(printsVersions(["python3", "-x", "-c", text])).toBe(false);
  expect(printsVersions(["python3", text])).toBe(false);
  expect(printsVersions(["x", "-c", text])).toBe(false);
  expect(printsVersions(["python3", "-c", UNKNOWN])).toBe(false);
  expect(printsVersions([])).toBe(false);
});
