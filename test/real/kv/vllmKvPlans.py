"""
vLLM's own KV plans, on a machine without a GPU that is told it is a GB10.

    python vllmKvPlans.py CASES.json

Each case is {config, engine, availableBytes}: a model's config.json, arguments of the engine and the bytes for its
cache, one figure for each rank where the engine has several. The whole way to the plan is vLLM's: its arguments, its configuration, its model without weights (on torch's
"meta" device, and the drafting module with it), the specs of that model's layers, the block size, the groups, the fit
check, the concurrency. Left out are the compiled kernels alone: they need a driver to load, and nothing calls them.
Prints {version, plans} after the word PLANS; a case that vLLM refuses has its words in `refused`.
"""

import importlib.abc
import importlib.machinery
import json
import os
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

KERNELS = {"vllm._C_stable_libtorch", "vllm._moe_C_stable_libtorch", "vllm.vllm_flash_attn._vllm_fa2_C"}
COMPILER = {"vllm.compilation.passes.pass_manager"}  # names kernels as it is imported
NAMED_BY_MODELS = ["gelu_and_mul", "gelu_tanh_and_mul", "relu_squared", "silu_and_mul", "silu_and_mul_with_clamp"]
ASKED_BY_MODELS = ["cutlass_group_gemm_supported", "cutlass_scaled_mm_supports_block_fp8",
                   "cutlass_scaled_mm_supports_fp4", "cutlass_scaled_mm_supports_fp8"]


class NoKernels(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name in KERNELS | COMPILER else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.PostGradPassManager = None


def pretend_gb10():
    """To be called before anything else of vLLM is imported."""
    os.environ.update(
        CUDA_VISIBLE_DEVICES="",  # lets Triton's language be imported without a driver
        HF_HUB_OFFLINE="1",
        VLLM_HAS_FLASHINFER_CUBIN="1",  # as in vLLM's image; without it the network is asked
        VLLM_LOGGING_LEVEL="ERROR",
        VLLM_NO_USAGE_STATS="1",
    )
    sys.meta_path.insert(0, NoKernels())
    import torch
    for name in NAMED_BY_MODELS + ASKED_BY_MODELS:
        setattr(torch.ops._C, name, lambda *_: False)

    torch.ops._C.get_cuda_view_from_cpu_tensor = lambda tensor: tensor  # of tables that stay in the host's memory

    properties = SimpleNamespace(multi_processor_count=48, major=12, minor=1, name="NVIDIA GB10")
    torch.cuda.get_device_properties = lambda *_: properties
    torch.cuda.Stream = torch.cuda.Event = type("Unused", (), {"__init__": lambda *_, **__: None})

    import vllm.platforms
    from vllm.platforms.cuda import NonNvmlCudaPlatform
    from vllm.platforms.interface import DeviceCapability

    class GB10(NonNvmlCudaPlatform):
        current_device = classmethod(lambda cls: "meta")
        device_count = classmethod(lambda cls: 1)
        get_device_capability = classmethod(lambda cls, device_id=0: DeviceCapability(12, 1))
        get_device_name = classmethod(lambda cls, device_id=0: "NVIDIA GB10")
        get_device_total_memory = classmethod(lambda cls, device_id=0: 127_600_592 * 1024)
        is_integrated_gpu = classmethod(lambda cls, device_id=0: True)
        num_compute_units = classmethod(lambda cls, device_id=0: 48)

    vllm.platforms._current_platform = GB10()
    from vllm.model_executor.models import registry
    from vllm.utils import platform_utils, torch_utils
    platform_utils.is_uva_available = lambda: True
    registry._run_in_subprocess = lambda inspect: inspect()  # a child process would see the real machine
    torch_utils._aux_stream = object()  # else a CUDA stream is made

    from vllm.config import VllmConfig, set_current_vllm_config
    from vllm.distributed import ensure_model_parallel_initialized, init_distributed_environment
    with set_current_vllm_config(VllmConfig()):
        init_distributed_environment(1, 0, f"file://{tempfile.mkdtemp()}/rendezvous", 0, backend="gloo")
        ensure_model_parallel_initialized(1, 1)


def on_meta():
    """Also the tensors that ask for the GPU by its name have a shape alone."""
    import torch
    from torch.overrides import TorchFunctionMode

    class OnMeta(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            if torch.device((kwargs or {}).get("device") or "meta").type == "cuda":
                kwargs = kwargs | {"device": "meta"}
            kwargs = {name: value for name, value in (kwargs or {}).items() if name != "pin_memory"}
            return function(*args, **kwargs)

    return OnMeta()


def as_rank(rank, ranks):
    """Models that are built from here on are a rank's part of them. Nothing is said between ranks until they run."""
    from vllm.distributed import get_tp_group
    group = get_tp_group()
    group.rank_in_group, group.world_size = rank, ranks


def engine_of(case, rank):
    from vllm.engine.arg_utils import EngineArgs
    model = tempfile.mkdtemp()
    Path(model, "config.json").write_text(json.dumps(case["config"]))
    ranks = case["engine"].get("tensor_parallel_size", 1)
    several = {"nnodes": ranks, "node_rank": rank, "distributed_executor_backend": "mp"} if ranks > 1 else {}
    as_rank(rank, ranks)
    return EngineArgs(
        model=model, skip_tokenizer_init=True, enforce_eager=True, **several, **case["engine"]).create_engine_config()


def cache_specs(engine):
    """What the layers of the model, and of its drafting module, want to cache."""
    import torch
    from vllm.config import set_current_vllm_config
    from vllm.distributed.kv_transfer.kv_connector.utils import get_current_attn_backends
    from vllm.model_executor.model_loader.utils import initialize_model
    from vllm.platforms import current_platform
    from vllm.utils.torch_utils import set_default_torch_dtype
    from vllm.v1.attention.backends.utils import get_supported_kv_cache_layouts, resolve_kv_cache_layout
    from vllm.v1.worker.gpu.attn_utils import get_kv_cache_spec
    with set_current_vllm_config(engine), set_default_torch_dtype(engine.model_config.dtype), torch.device("meta"), on_meta():
        initialize_model(engine)
        if engine.speculative_config is not None:
            initialize_model(engine, model_config=engine.speculative_config.draft_model_config)
    current_platform.update_block_size_for_backend(engine)
    specs = get_kv_cache_spec(engine)
    layouts = get_supported_kv_cache_layouts(get_current_attn_backends(engine))
    resolve_kv_cache_layout(engine, [[layout.name for layout in layouts]], specs.values())
    return specs


def check_sequences(engine, cache):
    """vLLM's check of --max-num-seqs as it captures graphs of whole decode steps, which is its default."""
    from vllm.config import CompilationConfig
    from vllm.v1.attention.backend import AttentionCGSupport
    CompilationConfig(cudagraph_mode="FULL").resolve_cudagraph_mode_and_sizes(
        AttentionCGSupport.ALWAYS, None, kv_cache_config=cache, max_num_reqs=engine.scheduler_config.max_num_seqs)


def grouped(engine, specs):
    """The groups, the bytes of a block of the pool and of one request, and what makes the whole plan of a memory."""
    from vllm.v1.core import kv_cache_utils as kv
    if hasattr(kv, "get_kv_cache_configs"):
        groups = kv.get_kv_cache_groups(engine, dict(specs[0]))
        return (groups, kv._pool_bytes_per_block(groups), kv._max_memory_usage_bytes_from_groups(engine, groups),
                lambda memories: kv.get_kv_cache_configs(engine, specs, memories))
    # From 0.31 on the platform has the builder of the plan.
    from vllm.v1.core import kv_cache_planning as planning
    from vllm.v1.core.kv_cache_config_builder import get_kv_cache_config_builder
    builder = get_kv_cache_config_builder(engine)
    groups = planning.get_global_kv_cache_groups(engine, specs)
    return (groups, planning._pool_bytes_per_block_from_builder(builder, engine, groups),
            planning._max_memory_usage_bytes_from_groups(builder, engine, groups),
            lambda memories: planning.get_kv_cache_configs(engine, specs, memories, groups))


def plan(case):
    from vllm.v1.core.kv_cache_utils import get_kv_cache_capacity
    ranks = case["engine"].get("tensor_parallel_size", 1)
    specs = []
    for rank in reversed(range(ranks)):
        engine = engine_of(case, rank)
        specs.insert(0, cache_specs(engine))
    _, bytes_per_block, bytes_per_request, configs_of = grouped(engine, specs)
    answer = {"fits": False, "starts": False, "blockSize": engine.cache_config.block_size,
              "bytesPerBlock": bytes_per_block, "bytesPerRequest": bytes_per_request,
              "blocksPerRequest": bytes_per_request // bytes_per_block}
    try:
        available = case["availableBytes"]
        cache, *others = configs_of(available if isinstance(available, list) else [available] * ranks)
        assert all(other.num_blocks == cache.num_blocks for other in others)
        tokens, concurrency = get_kv_cache_capacity(engine, cache)
        answer |= {"fits": True, "numBlocks": cache.num_blocks, "tokens": tokens, "maxConcurrency": concurrency}
        check_sequences(engine, cache)
        return answer | {"starts": True}
    except ValueError as error:
        return answer | {"refused": str(error)}


def answered(case):
    try:
        return plan(case)
    except Exception as error:  # a refusal, or a case that vLLM can't have; the test tells which
        return {"refused": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    pretend_gb10()
    import vllm
    plans = [answered(case) for case in json.loads(Path(sys.argv[1]).read_text())]
    print("PLANS" + json.dumps({"version": vllm.__version__, "plans": plans}))
