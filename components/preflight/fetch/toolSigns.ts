/** What the chat template of a model writes for a call, and the tool parser of vLLM that reads it. */
interface ToolSign {
  readonly words: RegExp;
  readonly parser: string;
  /** `model_type` of the config.json, where other models write the same and have another parser. */
  readonly type?: RegExp;
  /** Files of vLLM 0.30.0 that say so: which words the parser reads, and which models it is for. */
  readonly source: string;
}

const GUIDE = "docs/features/tool_calling.md";
const EXAMPLES = "examples/tool_chat_template_";
const READ_BY = "vllm/tool_parsers/";

/**
 * The first that fits counts. A form that two parsers read stands here only with what tells the
 * models apart; of a form that isn't here no parser is chosen.
 */
export const TOOL_SIGNS: readonly ToolSign[] = [
  {
    words: /<seed:tool_call>/,
    parser: "seed_oss",
    source: "vllm/parser/seed_oss.py",
  },
  {
    words: /<function=/,
    type: /^step3p\d/,
    parser: "step3p5",
    source: `${READ_BY}step3p5_tool_parser.py`,
  },
  {
    words: /<function=/,
    parser: "qwen3_coder",
    source: `${EXAMPLES}qwen3coder.jinja; ${GUIDE} names qwen3_xml, which is the same class`,
  },
  {
    words: /<arg_key>/,
    type: /^glm4_moe$/,
    parser: "glm45",
    source: `vllm/parser/glm47_moe.py, the class of both; ${GUIDE}`,
  },
  {
    words: /<arg_key>/,
    type: /^glm(4_moe_lite|_moe_dsa|5)/,
    parser: "glm47",
    source: `vllm/parser/glm47_moe.py; ${GUIDE}`,
  },
  {
    words: /<minimax:tool_call>/,
    parser: "minimax_m2",
    source: "vllm/parser/minimax_m2.py",
  },
  {
    words: /\]<\]minimax\[>\[/,
    parser: "minimax_m3",
    source: `${READ_BY}minimax_m3_tool_parser.py`,
  },
  {
    words: /<\|tool_calls_section_begin\|>/,
    parser: "kimi_k2",
    source: `vllm/parser/kimi_k2.py; ${GUIDE}`,
  },
  {
    words: /\[TOOL_CALLS\]/,
    parser: "mistral",
    source: `${EXAMPLES}mistral.jinja, _mistral3.jinja; ${GUIDE}`,
  },
  {
    words: /<\uff5ctool\u2581calls\u2581begin\uff5c>[\s\S]*```json/,
    parser: "deepseek_v3",
    source: `${EXAMPLES}deepseekv3.jinja, _deepseekr1.jinja; ${GUIDE}`,
  },
  {
    words: /<\uff5ctool\u2581calls\u2581begin\uff5c>/,
    parser: "deepseek_v31",
    source: `${EXAMPLES}deepseekv31.jinja; ${GUIDE}`,
  },
  {
    words: /^$|\uff5cDSML\uff5c/,
    type: /^deepseek_v32$/,
    parser: "deepseek_v32",
    source: "vllm/parser/deepseek_v32.py; vllm/tokenizers/deepseek_v32_encoding.py",
  },
  {
    words: /^$|\uff5cDSML\uff5c/,
    type: /^deepseek_v4$/,
    parser: "deepseek_v4",
    source: "vllm/parser/deepseek_v4.py; vllm/tokenizers/deepseek_v4_encoding.py",
  },
  {
    words: /<\|tool_call>/,
    parser: "gemma4",
    source: `${EXAMPLES}gemma4.jinja; vllm/parser/gemma4.py`,
  },
  {
    words: /<start_function_call>/,
    parser: "functiongemma",
    source: `${EXAMPLES}functiongemma.jinja; ${GUIDE}`,
  },
  {
    words: /<\|tools_prefix\|>/,
    parser: "apertus",
    source: `${EXAMPLES}apertus.jinja; ${GUIDE}`,
  },
  {
    words: /<atem:function_calls>/,
    parser: "muse_glimmer",
    source: `${EXAMPLES}muse_glimmer.jinja; ${READ_BY}muse_glimmer_tool_parser.py`,
  },
  {
    words: /<\|action_start\|><\|plugin\|>/,
    parser: "internlm",
    source: `${EXAMPLES}internlm2_tool.jinja; ${GUIDE}`,
  },
  {
    words: /functools\[/,
    parser: "phi4_mini_json",
    source: `${EXAMPLES}phi4_mini.jinja; ${READ_BY}phi4mini_tool_parser.py`,
  },
  {
    words: /<longcat_tool_call>/,
    parser: "longcat",
    source: `${READ_BY}longcat_tool_parser.py; ${GUIDE}`,
  },
  {
    words: /<\|tool_call_start\|>/,
    parser: "lfm2",
    source: `${READ_BY}lfm2_tool_parser.py`,
  },
  {
    words: /<function_calls>/,
    type: /^olmo3/,
    parser: "olmo3",
    source: `${READ_BY}olmo3_tool_parser.py; ${GUIDE}`,
  },
  {
    words: /<tool_calls>/,
    type: /^hunyuan/,
    parser: "hunyuan_a13b",
    source: `${EXAMPLES}hunyuan_a13b.jinja; ${GUIDE}`,
  },
  {
    words: /<tool_calls>/,
    type: /^jamba/,
    parser: "jamba",
    source: `${READ_BY}jamba_tool_parser.py; ${GUIDE}`,
  },
  {
    words: /<\|tool_call\|>/,
    type: /^granite/,
    parser: "granite",
    source: `${EXAMPLES}granite.jinja; ${GUIDE}`,
  },
  {
    words: /<tool_call>/,
    type: /^granite/,
    parser: "granite4",
    source: `${READ_BY}granite4_tool_parser.py; ${GUIDE}`,
  },
  {
    words: /<tool_call>/,
    type: /^ernie4_5/,
    parser: "ernie45",
    source: `${READ_BY}ernie45_tool_parser.py`,
  },
  {
    // JSON: others write a bare name, or tags, between the same words.
    words: /<tool_call>(?:\\n|[^A-Za-z<])*"name/,
    parser: "hermes",
    source: `${EXAMPLES}hermes.jinja; ${READ_BY}hermes_tool_parser.py; ${GUIDE} for Qwen2.5`,
  },
  {
    words: /"parameters": dictionary of argument name and its value/,
    parser: "llama3_json",
    source: `${EXAMPLES}llama3.1_json.jinja, _llama3.2_json.jinja; ${GUIDE}`,
  },
  {
    words: /<\|python_tag\|>/,
    parser: "llama3_json",
    source: `${READ_BY}llama_tool_parser.py`,
  },
];

/**
 * The tool parser for what a chat template writes; `undefined` where the template has no form of
 * one parser alone.
 */
export const toolParserIn = (template: string, modelType: string): string | undefined =>
  TOOL_SIGNS.find(
    ({ words, type }) => words.test(template) && (type === undefined || type.test(modelType)),
  )?.parser;
