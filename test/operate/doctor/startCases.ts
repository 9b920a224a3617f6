import { type PlaceCase, raised, VENV } from "./placeCases";

/** Words, values and files that a start was given, and what it ends of. */
const GIVEN: readonly PlaceCase[] = [
  {
    name: "JSON without its quotes",
    id: "argument-refused",
    lines: [
      "vllm serve: error: argument --speculative-config/-sc: Value {method: mtp, num_speculative_tokens: 2} cannot be converted to <function loads at 0x7fb834fe0180>.",
    ],
    cause:
      "The value of --speculative-config isn't JSON: `{method: mtp, num_speculative_tokens: 2}`.",
    change: "as YAML: `speculative: { method: mtp, numSpeculativeTokens: 2 }`.",
    not: /which values it takes/,
  },
  {
    name: "JSON in Python's form, of an option without a setting",
    id: "argument-refused",
    lines: [
      "vllm serve: error: argument --override-generation-config: Value {'top_k': 20} cannot be converted to <function loads at 0x7fb834fe0180>.",
    ],
    change: `Write \`--override-generation-config '{"top_k":20}'\``,
    not: /as YAML/,
  },
  {
    name: "JSON that is cut off",
    id: "argument-refused",
    lines: [
      'vllm serve: error: argument --compilation-config/-cc: Value {"mode": 3 cannot be converted to <function loads at 0x7fb834fe0180>.',
    ],
    cause: 'isn\'t JSON: `{"mode": 3`.',
    change: `Write \`--compilation-config '{"key": "value"}'\``,
  },
  {
    name: "a secret that should be JSON",
    id: "argument-refused",
    lines: [
      "vllm serve: error: argument --hf-overrides: Value {api_key: hf_abcdefghijklmnopqrstuvwxyzabcdef} cannot be converted to <function loads at 0x7fb834fe0180>.",
    ],
    cause: "The value of --hf-overrides isn't JSON.",
    not: /hf_abc/,
  },
];

const vllm = (version: string) =>
  `(APIServer pid=1) INFO 11-30 11:52:22 [api_utils.py:347]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version ${version}`;
const UNKNOWN_TYPE =
  "(APIServer pid=1)   Value error, The checkpoint you are trying to load has model type `acme3_vl` but Transformers does not recognize this architecture. [type=value_error]";
const NO_CLASS =
  "(APIServer pid=1)   Value error, Model architectures ['AcmeForCausalLM'] are not supported for now. Supported architectures: dict_keys([])";

/** Models that a release doesn't have: it has to be a newer one than the log's own. */
const NEWER: readonly PlaceCase[] = [
  {
    name: "a type that the usual release doesn't know either",
    id: "transformers-too-old",
    lines: [vllm("0.30.0"), UNKNOWN_TYPE],
    cause: "vLLM 0.30.0 and the transformers beside it don't know the model's type, acme3_vl.",
    change: "a release newer than 0.30.0",
    not: /above the floors|openai:v/,
  },
  {
    name: "a type of a release below the usual one",
    id: "transformers-too-old",
    lines: [vllm("0.26.0"), UNKNOWN_TYPE],
    cause: "older than the model",
    change: "Pin an image above the floors",
    not: /--newer/,
  },
  {
    name: "a class that a newer release may have",
    id: "architecture-unsupported",
    lines: [vllm("0.32.0"), NO_CLASS],
    cause: "['AcmeForCausalLM']",
    change: "a release newer than 0.32.0",
    not: /openai:v/,
  },
  {
    name: "a value of a newer release",
    id: "argument-refused",
    lines: [
      vllm("0.30.0"),
      "vllm serve: error: argument --all2all-backend: invalid choice: 'moonep' (choose from 'naive')",
    ],
    cause: "`moonep` came with a later one",
    change: "Take an image of vLLM 0.31.0 or later",
    not: /openai:v/,
  },
];

/** Values of variables, told by where they are read. */
const VARIABLES: readonly PlaceCase[] = [
  {
    name: "a service that is called vllm",
    id: "variable-refused",
    lines: raised(
      "ValueError: VLLM_PORT 'tcp://10.9.0.7:8000' appears to be a URI. This may be caused by a Kubernetes service discovery issue",
      ["vllm/utils/network_utils.py", "vllm/envs.py"],
      { code: "raise ValueError(" },
    ),
    cause: "VLLM_PORT is the address of a service (tcp://10.9.0.7:8000)",
    change: "`enableServiceLinks: false`",
    not: /Look at line|remove it/,
  },
  {
    name: "a unit behind a number",
    id: "variable-refused",
    lines: raised(
      "ValueError: invalid literal for int() with base 10: '5m'",
      ["vllm/v1/engine/core.py", "vllm/envs.py"],
      { code: '"VLLM_RPC_TIMEOUT_S": lambda: int(os.getenv("VLLM_RPC_TIMEOUT_S", "10")),' },
    ),
    cause:
      "can't read the value of VLLM_RPC_TIMEOUT_S: invalid literal for int() with base 10: '5m'.",
    change: "needs a plain number of seconds",
    not: /Look at line/,
  },
  {
    name: "a choice that there isn't",
    id: "variable-refused",
    lines: raised(
      "ValueError: Invalid value 'mbit' for VLLM_KV_CACHE_LAYOUT. Valid options: ['NHD', 'HND'].",
      ["vllm/envs.py"],
      { code: "raise ValueError(" },
    ),
    cause: "Valid options: ['NHD', 'HND'].",
    change: "environment.VLLM_KV_CACHE_LAYOUT: remove it",
  },
];

const loads = (...lines: readonly string[]) =>
  lines.map((line) => `(APIServer pid=1) ERROR 11-30 11:54:13 [import_utils.py:100] ${line}`);
/** A plug-in of a parser that can't be loaded, with the frames and what was raised. */
const plugin = (...lines: readonly string[]) => [
  ...loads(
    "Failed to load module 'acme' from /plugins/acme.py.",
    "Traceback (most recent call last):",
    `  File "${VENV}/vllm/utils/import_utils.py", line 98, in import_plugin`,
    "    return import_from_path(module_name, plugin_path)",
    ...lines,
  ),
  ...raised("KeyError: 'invalid tool call parser: acme (chose from { hermes })'", [
    "vllm/entrypoints/launchers/launcher.py",
  ]).slice(1),
];
const named = (argument: string, value: string) =>
  `(APIServer pid=1) INFO 09-05 10:19:15 [a.py:1] non-default args: {'model_tag': 'org/m', '${argument}': ['${value}']}`;

/** Code of the user's own, which arguments name. */
const OWN_CODE: readonly PlaceCase[] = [
  {
    name: "one that Python can't read",
    id: "parser-plugin",
    lines: plugin(
      '  File "/plugins/acme.py", line 7',
      "    class Acme",
      "              ^",
      "SyntaxError: expected ':'",
    ),
    cause: "(SyntaxError: expected ':' in line 7)",
    change: "correct that file in line 7",
    not: /Update the plugin|docker logs/,
  },
  {
    name: "one that imports what this vLLM lacks",
    id: "parser-plugin",
    lines: plugin(
      '  File "/plugins/acme.py", line 1, in <module>',
      "    from vllm.gone import ToolParser",
      "ModuleNotFoundError: No module named 'vllm.gone'",
    ),
    cause: "No module named 'vllm.gone' in line 1",
    change: "Update the plugin to this version",
  },
  {
    name: "one that isn't there",
    id: "parser-plugin",
    lines: plugin("FileNotFoundError: [Errno 2] No such file or directory: '/plugins/acme.py'"),
    change: "mount its folder (`mounts`)",
    not: /Python can't read|in line/,
  },
  {
    name: "a module of one's own",
    id: "module-named",
    lines: [
      named("middleware", "acme.auth.CheckKey"),
      ...raised("ModuleNotFoundError: No module named 'acme'", [
        "vllm/entrypoints/openai/api_server.py",
      ]).slice(1),
    ],
    cause: "vLLM finds no module acme, which `--middleware ['acme.auth.CheckKey']` names",
    change: "PYTHONPATH",
    not: /pip install/,
  },
  {
    name: "a package beside a module of one's own",
    id: "package-missing",
    lines: [
      named("middleware", "acme.auth.CheckKey"),
      ...raised("ModuleNotFoundError: No module named 'lmcache'", [
        "vllm/distributed/kv_transfer/kv_connector/factory.py",
      ]).slice(1),
    ],
  },
  {
    name: "a class of another kind",
    id: "plugin-unfit",
    lines: raised("ValueError: Steer must be a subclass of LogitsProcessor", [
      "vllm/v1/sample/logits_processor/__init__.py",
    ]),
    cause: "must be a subclass of LogitsProcessor",
    change: "derive Steer from vLLM's own LogitsProcessor",
    not: /Look at line/,
  },
  {
    name: "code of one's own that fails",
    id: "engine-said",
    lines: raised("KeyError: 'bias'", [
      "vllm/v1/sample/sampler.py",
      "/plugins/steer.py",
      "/usr/lib/python3.12/collections/__init__.py",
    ]),
    change: "raised in /plugins/steer.py:7, which is no part of vLLM",
    not: /Look at line/,
  },
];

/** What starts end of, by what they were given, where it was raised and what the log's clock shows. */
export const START_CASES: readonly PlaceCase[] = [...GIVEN, ...NEWER, ...VARIABLES, ...OWN_CODE];
