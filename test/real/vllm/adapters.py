"""Makes LoRA adapters of the tiny model `rig/dense`, as PEFT's save_pretrained leaves them, and spoilt ones:

    python adapters.py FOLDER RANK SEED [FORM]

Without a form the adapter is sound. Forms are below, each with what it shows.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

WIDTH, INNER, LAYERS = 128, 256, 2
LAYER = {"self_attn.q_proj": (WIDTH, WIDTH), "self_attn.v_proj": (WIDTH, WIDTH), "mlp.down_proj": (INNER, WIDTH)}


def made(rank: int, seed: int) -> tuple[dict, dict]:
    noise = torch.Generator().manual_seed(seed)
    tensors = {}
    for layer in range(LAYERS):
        for name, (into, out) in LAYER.items():
            prefix = f"base_model.model.model.layers.{layer}.{name}"
            tensors[f"{prefix}.lora_A.weight"] = torch.randn(rank, into, generator=noise).bfloat16()
            tensors[f"{prefix}.lora_B.weight"] = (torch.randn(out, rank, generator=noise) * 0.1).bfloat16()
    config = {
        "peft_type": "LORA",
        "base_model_name_or_path": "rig/dense",
        "r": rank,
        "lora_alpha": 16,
        "target_modules": [name.rsplit(".", 1)[1] for name in LAYER],
        "bias": "none",
    }
    return config, tensors


def with_config(**fields):
    return lambda config, tensors: config.update(fields)


def without(field):
    return lambda config, tensors: config.pop(field)


def reshaped(change):
    def form(_config, tensors):
        for name, tensor in list(tensors.items()):
            tensors[name] = change(name, tensor).contiguous()

    return form


def beside(config_fields, name, like):
    """One more tensor for each layer's tensor `like`, by its name."""

    def form(config, tensors):
        config.update(config_fields)
        for each, tensor in list(tensors.items()):
            if each.endswith(like):
                tensors[each.removesuffix(like) + name] = torch.ones(tensor.shape[0]).bfloat16()

    return form


def one_more(name, rows, **fields):
    def form(config, tensors):
        config.update(fields)
        tensors[f"base_model.model.{name}"] = torch.randn(rows, WIDTH).bfloat16()

    return form


def renamed(config, tensors):
    for name in [each for each in tensors if ".q_proj." in each]:
        tensors[name.replace(".q_proj.", ".in_proj_qkv.")] = tensors.pop(name)


def deeper(config, tensors):
    for name in [each for each in tensors if ".layers.1." in each]:
        tensors[name.replace(".layers.1.", ".layers.7.")] = tensors[name].clone()


def own_rank(rank):
    def form(config, tensors):
        config["rank_pattern"] = {"q_proj": rank}
        for name, tensor in list(tensors.items()):
            if ".q_proj." in name:
                shape = (rank, tensor.shape[1]) if "lora_A" in name else (tensor.shape[0], rank)
                tensors[name] = torch.randn(*shape).bfloat16()

    return form


def wider(name, tensor):
    return torch.randn(tensor.shape[0], 2 * WIDTH).bfloat16() if "lora_A" in name and "down" not in name else tensor


def narrower(name, tensor):
    return tensor[:, : WIDTH // 2] if "lora_A" in name else tensor[: WIDTH // 2]


FORMS = {
    "sound": lambda config, tensors: None,
    "dora": with_config(use_dora=True),
    "dora-tensors": beside({"use_dora": True}, "lora_magnitude_vector", "lora_B.weight"),
    "bias": with_config(bias="all"),
    "lora-bias": beside({"lora_bias": True}, "lora_B.bias", "lora_B.weight"),
    "modules-to-save": one_more("lm_head.weight", 1024, modules_to_save=["lm_head"]),
    "whole-layer": one_more("lm_head.weight", 1024),
    "tokens": one_more("model.embed_tokens.trainable_tokens_delta", 2, trainable_token_indices={"embed_tokens": [1, 2]}),
    "other-kind": with_config(peft_type="IA3"),
    "no-kind": without("peft_type"),
    "no-base": without("base_model_name_or_path"),
    "no-rank": without("r"),
    "rank-0": with_config(r=0),
    "no-alpha": without("lora_alpha"),
    "alpha-text": with_config(lora_alpha="16"),
    "no-targets": without("target_modules"),
    "own-smaller-rank": own_rank(4),
    "own-larger-rank": own_rank(16),
    # Of other bases: a wider one, a narrower one, one of other layers, one of more layers.
    "wider-base": reshaped(wider),
    "narrower-base": reshaped(narrower),
    "other-layers": renamed,
    "deeper-base": deeper,
}


def no_config(folder: Path) -> None:
    (folder / "adapter_config.json").unlink()


def no_json(folder: Path) -> None:
    (folder / "adapter_config.json").write_text("version https://git-lfs.github.com/spec/v1\n")


def no_weights(folder: Path) -> None:
    (folder / "adapter_model.safetensors").unlink()


def cut(folder: Path) -> None:
    file = folder / "adapter_model.safetensors"
    file.write_bytes(file.read_bytes()[:9000])


def pickle(folder: Path) -> None:
    file = folder / "adapter_model.safetensors"
    torch.save(load_file(file), folder / "adapter_model.bin")
    file.unlink()


class Code:
    def __reduce__(self):
        return print, ("code ran",)


def pickled_code(folder: Path) -> None:
    (folder / "adapter_model.safetensors").unlink()
    torch.save({"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight": Code()}, folder / "adapter_model.bin")


FILE_FORMS = {
    "no-config": no_config,
    "no-json": no_json,
    "no-weights": no_weights,
    "cut": cut,
    "pickle": pickle,
    "pickled-code": pickled_code,
}


def main(folder: Path, rank: int, seed: int, form: str = "sound") -> None:
    config, tensors = made(rank, seed)
    FORMS.get(form, FORMS["sound"])(config, tensors)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2))
    FILE_FORMS.get(form, lambda _: None)(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
