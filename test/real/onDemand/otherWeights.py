"""Makes a second model of the cached `rig/dense`, with weights of its own: python otherWeights.py HF_HOME NAME"""

import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

hub = Path(sys.argv[1]) / "hub"
folder = hub / f"models--rig--{sys.argv[2]}"
shutil.copytree(hub / "models--rig--dense", folder)
torch.manual_seed(1)
for file in folder.glob("snapshots/*/*.safetensors"):
    weights = load_file(file)
    changed = {name: each + 0.2 * torch.randn_like(each) for name, each in weights.items()}
    save_file(changed, file, metadata={"format": "pt"})
