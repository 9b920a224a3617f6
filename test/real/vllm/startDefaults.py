"""What vLLM's own configuration makes of the variables that its servers start with, as JSON."""
import json, os, sys

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


def moved():
    try:
        # A pool of its own, with which it is taken, needs a GPU.
        config(kv_transfer_config=KVTransferConfig(kv_connector="NixlConnector", kv_role="kv_both"))
    except ValueError as error:
        return str(error)
    return "taken"


os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
print("SAID", json.dumps({
    "shares": [fingerprint(gpu_memory_utilization=share) for share in (0.45, 0.3)],
    "sequences": [fingerprint(max_num_seqs=count) for count in (4, 16)],
    "moved": moved(),
}))
