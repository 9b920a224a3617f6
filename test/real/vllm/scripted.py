"""What a model of random weights says: vllm serve ... --logits-processors scripted:Scripted

It forces the tokens of an answer that the rules below choose, so everything around the model is vLLM's own. A test says
what it wants in the last turn: `SAY<<text>>` is answered with that text alone, to the letter, and `CRASH<<text>>` ends the engine with that error.
"""

import json
import re

import torch
from transformers import AutoTokenizer
from vllm.v1.sample.logits_processor import LogitsProcessor
from vllm.v1.sample.logits_processor.builtin import process_dict_updates

END = "<|im_end|>"
THOUGHTS = "A short answer is enough.\n</think>\n\n"


def call(name: str, arguments: dict) -> str:
    values = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in arguments.items())
    return f"<tool_call>\n<function={name}>\n{values}</function>\n</tool_call>"


def answer_to(prompt: str) -> str:
    turns = prompt.split("<|im_start|>")[:-1]
    spoken = max((at for at, turn in enumerate(turns) if turn.startswith("assistant\n")), default=0)
    new = [turn for turn in turns[spoken:] if turn.startswith("user\n")]
    # Clients put reminders of their own behind what a user wrote or a tool brought.
    meant = [turn for turn in new if "SAY<<" in turn or "<tool_response>" in turn]
    last = (meant or new or [""])[-1]
    crash = re.search(r"CRASH<<(.*)>>", last, re.DOTALL)
    if crash:
        raise RuntimeError(crash[1])
    said = re.search(r"SAY<<(.*)>>", last, re.DOTALL)
    if said:
        return said[1]
    return (THOUGHTS if prompt.endswith("<think>\n") else "") + answer(prompt, last)


def answer(prompt: str, last: str) -> str:
    codes = re.findall(r"code is (QX-\w+)", last)
    if codes:
        return " ".join(codes)
    result = re.search(r"<tool_response>\n(.*)\n</tool_response>", last, re.DOTALL)
    if result:
        return f"It says: {result[1][:300]}"
    if "with the JSON object" in last:
        return '{"ok": true}'
    block = re.search(r"<tools>\n(.*?)\n</tools>", prompt, re.DOTALL)
    for line in block[1].split("\n") if block else []:
        tool = json.loads(line)
        tool = tool.get("function", tool)
        if re.search(rf"\b{re.escape(tool['name'])}\b", last):
            required = tool["parameters"].get("required", [])
            path = re.search(r"/\S+\w", last)
            return call(tool["name"], {name: path[0] if path else "example" for name in required})
    return "Hello"


class Scripted(LogitsProcessor):
    def __init__(self, vllm_config, device, is_pin_memory):
        self.tokenizer = AutoTokenizer.from_pretrained(vllm_config.model_config.tokenizer)
        self.requests = {}

    def is_argmax_invariant(self):
        return False

    def update_state(self, batch_update):
        process_dict_updates(self.requests, batch_update, self.plan)

    def plan(self, _params, prompt_tokens, output_tokens):
        text = answer_to(self.tokenizer.decode(prompt_tokens or [])) + END
        return self.tokenizer.encode(text, add_special_tokens=False), output_tokens

    def apply(self, logits):
        for row, (answer, output) in self.requests.items():
            token = answer[min(len(output), len(answer) - 1)]
            forced = torch.full_like(logits[row], float("-inf"))
            forced[token] = 0
            logits[row] = forced
        return logits
