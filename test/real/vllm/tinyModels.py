"""Makes models that any computer can serve, as the hub's cache has them: python tinyModels.py HF_HOME

`rig/dense` (Qwen3), `rig/hybrid` (Qwen3-Next: linear attention in three layers of four) and `rig/rerank` (Qwen3 that gives
a text a score) have random weights of some MB.
"""

import json
import sys
from pathlib import Path

import torch
from tokenizers import ByteLevelBPETokenizer
from transformers import (
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3ForSequenceClassification,
    Qwen3NextConfig,
    Qwen3NextForCausalLM,
)

REVISION = "0" * 40
END = "<|im_end|>"
SPECIAL = ["<|endoftext|>", "<|im_start|>", END]
# Parsers ask the vocabulary for these; a client sees them as text.
TAGS = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]

# Words of the prompts that are long: each becomes one token, as in a real vocabulary.
TEXT = "the river runs past the old stone house and the quiet garden near the long road to the green hill.\n" * 50

# It refuses a system element in the middle, as Qwen's own does.
TEMPLATE = """\
{%- macro text(content) %}{% if content is string %}{{ content }}{% else %}{% for part in content %}{{ part.text }}{% endfor %}{% endif %}{% endmacro %}
{%- set ns = namespace(first=true) %}
{%- if tools %}<|im_start|>system
{% if messages[0].role == 'system' %}{{ text(messages[0].content) }}
{% endif %}<tools>
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}</tools><|im_end|>
{% elif messages[0].role == 'system' %}<|im_start|>system
{{ text(messages[0].content) }}<|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'system' %}
{%- if not loop.first %}{{ raise_exception('System message must be at the beginning.') }}{% endif %}
{%- elif message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ text(message.content) }}
</tool_response><|im_end|>
{% else %}<|im_start|>{{ message.role }}
{% if message.content %}{{ text(message.content) }}{% endif %}
{%- for call in message.tool_calls or [] %}<tool_call>
<function={{ call.function.name }}>
{% for name, value in call.function.arguments | items %}<parameter={{ name }}>
{{ value }}
</parameter>
{% endfor %}</function>
</tool_call>{% endfor %}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking is defined and not enable_thinking %}<think>

</think>

{% else %}<think>
{% endif %}{% endif %}"""


def main(home: Path) -> None:
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator([TEXT], vocab_size=1024, min_frequency=2, special_tokens=SPECIAL)
    tokenizer.add_tokens(TAGS)
    common = {
        "vocab_size": 1024,
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 64,
        "max_position_embeddings": 262_144,
        "dtype": "bfloat16",
        "eos_token_id": tokenizer.token_to_id(END),
    }
    dense = Qwen3Config(**common, num_hidden_layers=2)
    hybrid = Qwen3NextConfig(
        **common,
        num_hidden_layers=4,
        num_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=64,
        shared_expert_intermediate_size=64,
        linear_num_key_heads=2,
        linear_num_value_heads=4,
        linear_key_head_dim=64,
        linear_value_head_dim=64,
    )
    rerank = Qwen3Config(**common, num_hidden_layers=2, num_labels=1, pad_token_id=0)
    torch.manual_seed(0)
    models = {
        "dense": Qwen3ForCausalLM(dense),
        "hybrid": Qwen3NextForCausalLM(hybrid),
        "rerank": Qwen3ForSequenceClassification(rerank),
    }
    # Random weights prefer one text to another for no reason: with this sign it is the one that
    # verify's probe asks for.
    models["rerank"].score.weight.data.neg_()
    for name, model in models.items():
        repository = home / "hub" / f"models--rig--{name}"
        folder = repository / "snapshots" / REVISION
        model.to(torch.bfloat16).save_pretrained(folder)
        tokenizer.save(str(folder / "tokenizer.json"))
        (folder / "tokenizer_config.json").write_text(
            json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "pad_token": SPECIAL[0]})
        )
        (folder / "chat_template.jinja").write_text(TEMPLATE)
        (repository / "refs").mkdir()
        (repository / "refs" / "main").write_text(REVISION)
    (home / "made").touch()


main(Path(sys.argv[1]))
