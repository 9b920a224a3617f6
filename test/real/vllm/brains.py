"""Models that err: vllm serve ... --logits-processors brains:Brained

The file that the variable BRAIN names holds the word for what the model does from now on, so that one server can be several.
"""

import json
import os
import re

from scripted import END, THOUGHTS, Scripted, answer_to


def in_hermes_form(prompt: str) -> str:
    """Calls are JSON inside of the tags."""
    text = answer_to(prompt)
    function = re.search(r"<function=(\w+)>", text)
    if not function:
        return text
    arguments = dict(re.findall(r"<parameter=(\w+)>\n(.*?)\n</parameter>", text))
    call = json.dumps({"name": function[1], "arguments": arguments})
    return f"{text.split('<tool_call>')[0]}<tool_call>\n{call}\n</tool_call>"


def always_thinking(prompt: str) -> str:
    text = answer_to(prompt)
    return text if text.startswith(THOUGHTS) else f"<think>\n{THOUGHTS}{text}"


def never_thinking(prompt: str) -> str:
    text = answer_to(prompt)
    return "</think>\n\n" + text.removeprefix(THOUGHTS) if text.startswith(THOUGHTS) else text


BRAINS = {"hermes": in_hermes_form, "thinks": always_thinking, "thoughtless": never_thinking}


class Brained(Scripted):
    def plan(self, params, prompt_tokens, output_tokens):
        with open(os.environ["BRAIN"], encoding="utf-8") as file:
            brain = file.read().strip()
        if brain == "endless":
            # The last token is repeated as long as somebody listens.
            return self.tokenizer.encode("the river runs past the", add_special_tokens=False), output_tokens
        if brain not in BRAINS:
            return super().plan(params, prompt_tokens, output_tokens)
        text = BRAINS[brain](self.tokenizer.decode(prompt_tokens or [])) + END
        return self.tokenizer.encode(text, add_special_tokens=False), output_tokens
