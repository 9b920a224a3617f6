"""
What `vllm serve` takes, read from an installed vLLM: its own argument parser, registries and table of variables.

Prints JSON after the word ENGINE, with what the parser makes of each prefix of its long options: the names that fit. The
machine needs no GPU; vLLM is told that there is one, and nothing else of it runs.
"""

import argparse
import enum
import importlib
import json
import os
import socket
from typing import get_args

os.environ.update(CUDA_VISIBLE_DEVICES="", HF_HUB_OFFLINE="1", VLLM_LOGGING_LEVEL="ERROR", VLLM_NO_USAGE_STATS="1")
DASHES = "-"


def first_of(name, *modules):
    """The module of a thing changes from version to version."""
    for module in modules:
        try:
            return getattr(importlib.import_module(module), name)
        except (AttributeError, ImportError):
            continue
    raise SystemExit(f"This vLLM has {name} in none of: {', '.join(modules)}")


def parser():
    from vllm.platforms import current_platform
    type(current_platform).device_type = "cuda"
    make = first_of("make_arg_parser", "vllm.entrypoints.common.cli_args", "vllm.entrypoints.launchers.cli_args",
                    "vllm.entrypoints.openai.cli_args")
    return make(first_of("FlexibleArgumentParser", "vllm.utils.argparse_utils")())


def literals(hint):
    """The words of a Literal, and of those inside it."""
    return [word for part in get_args(hint) for word in ([part] if isinstance(part, str) else literals(part))]


def spellings(serve):
    """Each action with every way to write it; help may hide some of them."""
    written = {}
    for spelling, action in serve._option_string_actions.items():
        if action.dest != "help":
            written.setdefault(id(action), (action, []))[1].append(spelling)
    return written.values()


def name_of(action, written):
    usual = "--" + action.dest.replace("_", DASHES)
    return (usual if usual in written else max(written, key=len)).lstrip(DASHES)


def turns_off(serve, action, spelling):
    values = argparse.Namespace()
    action(serve, values, [], spelling)
    return getattr(values, action.dest) is False


def flags(serve):
    found = {"switches": {}, "lists": [], "values": [], "aliases": {}, "choices": {}}
    for action, written in spellings(serve):
        name = name_of(action, written)
        off = [each for each in written if action.nargs == 0 and turns_off(serve, action, each)]
        if action.nargs == 0:
            found["switches"][name] = sorted(each.lstrip(DASHES) for each in off)
        else:
            found["lists" if action.nargs in ("+", "*") else "values"].append(name)
        found["aliases"].update({each: name for each in written if each not in off and each != "--" + name})
        if action.choices:
            found["choices"][name] = [str(each) for each in action.choices if each is not None]
    return found


def any_case(serve):
    """Options whose values vLLM reads in any case and with dashes for underscores."""
    names = []
    for action, written in spellings(serve):
        try:
            if [action.type(each.upper().replace("_", DASHES)) for each in action.choices] == list(action.choices):
                names.append(name_of(action, written))
        except (AttributeError, TypeError, ValueError):
            continue  # no choices, or none that are text
    return names


def registered(serve):
    """Choices that vLLM checks behind its parser, since plug-ins may add to them."""
    from vllm.config.cache import CacheDType
    from vllm.config.speculative import SpeculativeMethod
    from vllm.model_executor.layers.quantization import QUANTIZATION_METHODS
    from vllm.model_executor.model_loader import LoadFormats
    from vllm.reasoning import ReasoningParserManager
    backends = first_of("AttentionBackendEnum", "vllm.v1.attention.backends.registry", "vllm.attention.backends.registry")
    tools = first_of("ToolParserManager", "vllm.tool_parsers", "vllm.entrypoints.openai.tool_parsers")
    try:
        from vllm.config.quantization import ONLINE_QUANT_SHORTHAND_NAMES as online
    except ImportError:
        online = []
    unset = ["none"] if serve._option_string_actions["--reasoning-parser"].type("none") == "" else []
    return {
        "attention-backend": ["auto", *backends.__members__],
        "kv-cache-dtype": literals(CacheDType),
        "load-format": literals(LoadFormats),
        "quantization": [*QUANTIZATION_METHODS, *online],
        "reasoning-parser": [*ReasoningParserManager.list_registered(), *unset],
        "speculative-config.method": literals(SpeculativeMethod),
        "tool-call-parser": tools.list_registered(),
    }


def architectures():
    """The classes of models that vLLM has, as a config.json names them."""
    from vllm.model_executor.models.registry import ModelRegistry
    return list(ModelRegistry.get_supported_archs())


def of_machine(value):
    """A path or a host name says where this was read, and nothing of vLLM."""
    return isinstance(value, str) and (value.startswith(("/", "~")) or socket.gethostname() in value)


def is_plain(value):
    known = value is None or isinstance(value, (bool, int, float, str))
    return known and value != argparse.SUPPRESS and not of_machine(value)


def defaults(serve):
    """Each option's default where it is a plain value or a list of such; objects are worked out as vLLM starts."""
    found = {}
    for action, written in spellings(serve):
        value = action.default.value if isinstance(action.default, enum.Enum) else action.default
        value = sorted(value) if isinstance(value, set) else value
        if all(map(is_plain, value)) if isinstance(value, list) else is_plain(value):
            found[name_of(action, written)] = value
    return {name: found[name] for name in sorted(found)}


def in_order(value):
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return sorted(set(value)) if isinstance(value, list) else value


def abbreviations(serve):
    """Every prefix of a long option that is none itself, with the options that it fits."""
    long = [each for each in serve._option_string_actions if each.startswith("--")]
    cut = {each[:length] for each in long for length in range(3, len(each))} - set(long)
    fitting = {each: [name for name in (found[1] for found in serve._get_option_tuples(each))] for each in cut}
    actions = {id(action): name_of(action, written) for action, written in spellings(serve)}
    return {each: [[name[2:], actions.get(id(serve._option_string_actions[name]), "help")] for name in names]
            for each, names in fitting.items()}


def main():
    import vllm
    import vllm.envs
    serve = parser()
    engine = flags(serve)
    engine["choices"] = {**engine["choices"], **registered(serve)}
    engine["anyCase"] = [*any_case(serve), "attention-backend"]
    engine["architectures"] = architectures()
    engine["variables"] = [name for name in vllm.envs.environment_variables if name.startswith("VLLM_")]
    answer = {"version": vllm.__version__, **in_order(engine), "defaults": defaults(serve),
              "abbreviations": abbreviations(serve)}
    print("ENGINE" + json.dumps(answer))


main()
