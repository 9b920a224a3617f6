"""What vLLM's own configuration makes of the variables that its servers start with, as JSON.

    python startDefaults.py MODEL
"""
import json, os, sys
from importlib.metadata import version
from pathlib import Path

if "cpu" not in version("vllm"):
    # A build for GPUs is told that it has one, or it has no platform.
    sys.path.insert(0, str(Path(__file__).parent.parent / "kv"))
    from vllmKvPlans import pretend_gb10
    pretend_gb10()

from vllm.config import KVTransferConfig
from vllm.engine.arg_utils import EngineArgs
from vllm.platforms import current_platform
from vllm.v1.worker import startup_plan

# A build for CPUs knows no device, of which the fingerprint asks.
platform = type(current_platform)
platform.get_device_capability = classmethod(lambda *_, **__: None)
platform.get_device_total_memory = classmethod(lambda *_, **__: 128 << 30)
platform.get_device_name = classmethod(lambda *_, **__: "GB10")


def config(**more):
    return EngineArgs(model=sys.argv[1], max_model_len=2048, **more).create_engine_config()


def fingerprint(**more):
    return startup_plan.compute_plan_fingerprint(config(**more), 0, 1)


def taken(**more):
    try:
        config(**more)
    except ValueError as error:
        return str(error)
    return "taken"


os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
# A pool of its own, with which it is taken, needs a GPU.
connector = KVTransferConfig(kv_connector="NixlConnector", kv_role="kv_both")
beside = taken(kv_transfer_config=connector)
alone = taken()
shares = [fingerprint(gpu_memory_utilization=share) for share in (0.45, 0.3)]
sequences = [fingerprint(max_num_seqs=count) for count in (4, 16)]
batches = [fingerprint(max_num_batched_tokens=count) for count in (2048, 8192)]
del os.environ["PYTORCH_CUDA_ALLOC_CONF"]
print("SAID", json.dumps({
    "version": version("vllm"),
    "alone": alone,
    "beside": beside,
    "without": taken(kv_transfer_config=connector),
    "shares": shares,
    "sequences": sequences,
    "batches": batches,
}))
