import { engineData } from "@local-serving/vllm/engineData";
import { expect, it } from "vitest";
import { TOOL_SIGNS, toolParserIn } from "../../../components/preflight/fetch/toolSigns";
import { pinnedServer } from "../../../components/supply";

/**
 * What templates and tests of vLLM 0.30.0 write for a call, and the parser that its
 * docs/features/tool_calling.md or the test names for it.
 */
const WRITTEN: readonly (readonly [file: string, words: string, type: string, parser?: string])[] =
  [
    ["examples/tool_chat_template_apertus.jinja", "'<|tools_prefix|>'", "apertus", "apertus"],
    [
      "examples/tool_chat_template_deepseekv3.jinja",
      "'<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>' + tool['type'] + '<｜tool▁sep｜>' + tool['function']['name'] + '\\n' + '```json'",
      "deepseek_v3",
      "deepseek_v3",
    ],
    [
      "examples/tool_chat_template_deepseekr1.jinja",
      "'<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>FUNCTION_NAME\\n'\n        '```json",
      "deepseek_v3",
      "deepseek_v3",
    ],
    [
      "examples/tool_chat_template_deepseekv31.jinja",
      "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>tool_call_name<｜tool▁sep｜>tool_call_arguments",
      "deepseek_v3",
      "deepseek_v31",
    ],
    ["vllm/tokenizers/deepseek_v32_encoding.py", "｜DSML｜", "deepseek_v32", "deepseek_v32"],
    ["vllm/tokenizers/deepseek_v4_encoding.py", "｜DSML｜", "deepseek_v4", "deepseek_v4"],
    [
      "examples/tool_chat_template_functiongemma.jinja",
      "<start_function_call>call:{{ tool_call.function.name }}{",
      "gemma3_text",
      "functiongemma",
    ],
    [
      "examples/tool_chat_template_gemma4.jinja",
      "'<|tool_call>call:' + function['name'] + '{'",
      "gemma4",
      "gemma4",
    ],
    [
      "examples/tool_chat_template_glm4.jinja",
      "<tool_call>function_name\n<arg_key>parameter_name</arg_key>",
      "glm4_moe",
      "glm45",
    ],
    ["the same", "<tool_call>function_name\n<arg_key>", "glm4_moe_lite", "glm47"],
    ["the same", "<tool_call>function_name\n<arg_key>", "glm_moe_dsa", "glm47"],
    [
      "examples/tool_chat_template_granite.jinja",
      "respond with <|tool_call|> followed by a JSON list",
      "granite",
      "granite",
    ],
    [
      "tests/tool_parsers/test_granite4_tool_parser.py",
      '<tool_call> {"name": ',
      "granitemoehybrid",
      "granite4",
    ],
    [
      "examples/tool_chat_template_hermes.jinja",
      `{{- "<tool_call>\n" }}\n{{- '{"name": <function-name>, "arguments": <args-dict>}`,
      "llama",
      "hermes",
    ],
    [
      "vllm/transformers_utils/chat_templates/template_minicpmv45.jinja, of Qwen2.5's form",
      '<tool_call>\\n{\\"name\\": <function-name>, \\"arguments\\": <args-json-object>}',
      "qwen2",
      "hermes",
    ],
    [
      "examples/tool_chat_template_hunyuan_a13b.jinja",
      '<tool_calls>[{"name": "func_name1"',
      "hunyuan_v1_moe",
      "hunyuan_a13b",
    ],
    [
      "tests/tool_parsers/test_jamba_tool_parser.py",
      '<tool_calls>[\n    {"name": ',
      "jamba",
      "jamba",
    ],
    [
      "examples/tool_chat_template_internlm2_tool.jinja",
      '"<|action_start|><|plugin|>\\n"',
      "internlm2",
      "internlm",
    ],
    [
      "examples/tool_chat_template_llama3.1_json.jinja",
      '{"name": function name, "parameters": dictionary of argument name and its value}',
      "llama",
      "llama3_json",
    ],
    ["vllm/tool_parsers/llama_tool_parser.py", '"<|python_tag|>"', "llama", "llama3_json"],
    ["examples/tool_chat_template_mistral3.jinja", '"[TOOL_CALLS] ["', "mistral", "mistral"],
    [
      "examples/tool_chat_template_muse_glimmer.jinja",
      "<atem:function_calls>",
      "muse_glimmer",
      "muse_glimmer",
    ],
    [
      "examples/tool_chat_template_phi4_mini.jinja",
      'functools[{"name": [function name]',
      "phi3",
      "phi4_mini_json",
    ],
    [
      "examples/tool_chat_template_qwen3coder.jinja",
      "<tool_call>\\n<function=example_function_name>\\n<parameter=example_parameter_1>",
      "qwen3_moe",
      "qwen3_coder",
    ],
    [
      "tests/tool_parsers/test_step3p5_tool_parser.py",
      "<tool_call>\n<function=get_current_weather>",
      "step3p7",
      "step3p5",
    ],
    ["vllm/parser/seed_oss.py", "<seed:tool_call><function=", "seed_oss", "seed_oss"],
    ["vllm/parser/minimax_m2.py", '<minimax:tool_call><invoke name="', "minimax_m2", "minimax_m2"],
    [
      "tests/tool_parsers/test_minimax_m3_tool_parser.py",
      "]<]minimax[>[<tool_call>\n",
      "minimax_m3_vl",
      "minimax_m3",
    ],
    ["vllm/parser/kimi_k2.py", "<|tool_calls_section_begin|>", "kimi_k2", "kimi_k2"],
    [
      "tests/tool_parsers/test_longcat_tool_parser.py",
      '<longcat_tool_call>{"name": "get_weather", ',
      "longcat_flash",
      "longcat",
    ],
    ["tests/tool_parsers/test_lfm2_tool_parser.py", "<|tool_call_start|>[", "lfm2", "lfm2"],
    ["tests/tool_parsers/test_olmo3_tool_parser.py", "<function_calls>", "olmo3", "olmo3"],
    [
      "tests/tool_parsers/test_ernie45_moe_tool_parser.py",
      "<tool_call>\n{",
      "ernie4_5_moe",
      "ernie45",
    ],
    // Read by parsers that the form alone doesn't tell apart, or of no form.
    [
      "tests/tool_parsers/test_poolside_v1_tool_parser.py",
      "<tool_call>write_file\n<arg_key>",
      "laguna",
    ],
    [
      "tests/tool_parsers/test_hy_v3_tool_parser.py",
      "<tool_calls><tool_call>get_current_date<tool_sep></tool_call></tool_calls>",
      "hy_v3",
    ],
    [
      "tests/tool_parsers/test_minicpm5xml_tool_parser.py",
      '<function name="get_weather">',
      "minicpm5",
    ],
    [
      "examples/tool_chat_template_llama3.2_pythonic.jinja",
      "[func_name1(params_name1=params_value1",
      "llama",
    ],
    [
      "examples/tool_chat_template_xlam_qwen.jinja",
      '[{"name": "tool_call_name", "arguments": {"arg1": "value1"',
      "qwen2",
    ],
    ["examples/template_chatml.jinja", "<|im_start|>", "qwen2"],
  ];

const CASES = WRITTEN.map(([file, words, type, parser]) => ({ file, words, type, parser }));

it.each(CASES)("$file: $words of $type", ({ words, type, parser }) => {
  expect(toolParserIn(`{% for message in messages %}${words}`, type)).toBe(parser);
});

it("has a source and a case for each sign, and a parser that the pinned vLLM has", () => {
  const { vllm } = pinnedServer().versions;
  const known = engineData(vllm ?? "")?.choices["tool-call-parser"] ?? [];
  expect([vllm, TOOL_SIGNS.filter(({ parser }) => !known.includes(parser))]).toEqual([
    "0.30.0",
    [],
  ]);
  const used = TOOL_SIGNS.map((sign) =>
    WRITTEN.filter(
      ([, words, type, parser]) =>
        parser === sign.parser && sign.words.test(words) && sign.type?.test(type) !== false,
    ),
  );
  expect(used.filter((cases) => cases.length === 0)).toEqual([]);
  expect(TOOL_SIGNS.map(({ source }) => source)).not.toContain("");
});
