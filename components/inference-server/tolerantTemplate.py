# Writes the chat template of `chatTemplate: tolerant`: the model's own, behind a few lines that put
# a system element in the middle behind the message before it. Run in the server's container as
#
#   python3 -c "$(cat tolerantTemplate.py)" FILE MODEL ARGUMENT...
#
# with the arguments of `vllm serve`. A policy reads it as part of the shell's script: a `set`
# behind a space would be the shell's to it, and the server's arguments not known.
import json
import sys
from pathlib import Path

from huggingface_hub import hf_hub_download
from huggingface_hub.errors import EntryNotFoundError

# A turn of its own would be one more user turn, before which some templates leave out what the
# model thought.
TOLERANT = """{%-set seen = namespace(turns=[]) -%}
{%- for turn in messages -%}
{%-set before = seen.turns[-1] if seen.turns else none -%}
{%- if turn.role != "system" or not before -%}
{%-set seen.turns = seen.turns + [turn] -%}
{%- else -%}
{%-set said = turn.content if turn.content is string else turn.content | map(attribute="text") | join -%}
{%-set said = "<system-reminder>\\n" + said + "\\n</system-reminder>" -%}
{%- if before.role in ["assistant", "system"] or not before.content -%}
{%-set seen.turns = seen.turns + [dict(role="user", content=said)] -%}
{%- elif before.content is string -%}
{%-set seen.turns = seen.turns[:-1] + [dict(before, content=before.content + "\\n\\n" + said)] -%}
{%- else -%}
{%-set seen.turns = seen.turns[:-1] + [dict(before, content=before.content + [dict(type="text", text=said)])] -%}
{%- endif -%}
{%- endif -%}
{%- endfor -%}
{%-set messages = seen.turns -%}
"""


def main(file: str, model: str, *arguments: str) -> None:
    given = dict(zip(arguments, arguments[1:]))

    def text(name: str) -> str:
        if Path(model).is_dir():
            path = Path(model, name)
        else:
            try:
                path = Path(hf_hub_download(model, name, revision=given.get("--revision")))
            except EntryNotFoundError:
                return ""
        return path.read_text() if path.is_file() else ""

    own = text("chat_template.jinja") or json.loads(text("tokenizer_config.json") or "{}").get("chat_template")
    if isinstance(own, list):
        own = next((each["template"] for each in own if each["name"] == "default"), None)
    if not own:
        sys.exit(f"chatTemplate: tolerant: {model} has no chat template of its own")
    Path(file).write_text(TOLERANT + own)


main(*sys.argv[1:])
