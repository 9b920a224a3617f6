"""
How many tokens vLLM's own scheduler finds again on the calls of agents in turn. Nothing is computed: a made-up answer
stands in for each step of the model.

    python prefixReuse.py LOOPS.json
    python prefixReuse.py --draw SEED COUNT

Each loop is {hybrid, block, chunk, drafts, shared, calls} and may have {engine, room}: blocks of `block` tokens as a
GB10 has them (a CPU's differ), --max-num-batched-tokens, draft tokens a step (method mtp), the tokens that all agents'
prompts begin with, more arguments of the engine, blocks of the pool. A call is [agent, tokens of the prompt, tokens of the answer]; an agent's
prompt is its last one with its answer and what is new behind it. Prints {version, found} after the word FOUND: of each
loop the tokens that each call found, or what the scheduler refuses it for. --draw prints random loops, one a line.
"""

import json
import os
import random
import sys
import tempfile
from collections import deque
from importlib.metadata import version
from pathlib import Path

os.environ.update(HF_HUB_OFFLINE="1", VLLM_LOGGING_LEVEL="ERROR", VLLM_NO_USAGE_STATS="1")

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent.parent / "kv"))
from vllmKvPlans import pretend_gb10  # noqa: E402

if "+cpu" not in version("vllm"):  # a build for GPUs
    pretend_gb10()
import torch  # noqa: E402
import vllm  # noqa: E402
from vllm.engine.arg_utils import EngineArgs  # noqa: E402
from vllm.sampling_params import SamplingParams  # noqa: E402
from vllm.utils.hashing import sha256  # noqa: E402
from vllm.v1.core import kv_cache_utils as kv  # noqa: E402
from vllm.v1.core.sched.async_scheduler import AsyncScheduler  # noqa: E402
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec, MambaSpec  # noqa: E402
from vllm.v1.outputs import ModelRunnerOutput  # noqa: E402
from vllm.v1.request import Request  # noqa: E402
from vllm.v1.structured_output import StructuredOutputManager  # noqa: E402

# Any model that has linear attention and a drafting module: the groups below are made by hand.
MODEL = {
    "architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", "hidden_size": 128, "intermediate_size": 256,
    "num_hidden_layers": 4, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 1024,
    "layer_types": ["linear_attention"] * 3 + ["full_attention"], "max_position_embeddings": 262144,
}
STATE = {"shapes": ((4, 4),), "dtypes": (torch.float32,)}
LINEAR_GROUPS = 3
# More than any loop fills: nothing is thrown out.
ROOM = 200_000
# As a GPU has them: the next step is scheduled while one runs.
STEPS_AT_ONCE = 2


def engine_of(loop):
    model = tempfile.mkdtemp()
    Path(model, "config.json").write_text(json.dumps(MODEL))
    drafts = loop["drafts"]
    more = {"speculative_config": {"method": "mtp", "num_speculative_tokens": drafts}} if drafts else {}
    engine = EngineArgs(model=model, skip_tokenizer_init=True, enforce_eager=True, max_model_len=262144, max_num_seqs=4,
                        max_num_batched_tokens=loop["chunk"], enable_prefix_caching=True, **more,
                        **loop.get("engine", {})).create_engine_config()
    engine.scheduler_config.async_scheduling = True
    return engine


def cache_of(loop, engine):
    block, cache = loop["block"], engine.cache_config
    full = FullAttentionSpec(block_size=block, num_kv_heads=2, head_size=64, dtype=torch.bfloat16)
    state = MambaSpec(block_size=block, page_size_padded=full.page_size_bytes, mamba_cache_mode=cache.mamba_cache_mode,
                      num_speculative_blocks=loop["drafts"], **STATE)
    specs = [full] + [state] * LINEAR_GROUPS * loop["hybrid"]
    config = KVCacheConfig(num_blocks=loop.get("room", ROOM), kv_cache_tensors=[],
                           kv_cache_groups=[KVCacheGroupSpec([str(at)], spec) for at, spec in enumerate(specs)])
    if loop["hybrid"] and hasattr(cache, "prefix_cache_retention_interval"):  # new in 0.27 or so
        config.prefix_cache_retention_interval = cache.prefix_cache_retention_interval
    return config


class Server:
    def __init__(self, engine, loop):
        engine.cache_config.block_size = engine.cache_config.mamba_block_size = loop["block"]
        engine.cache_config.num_gpu_blocks = loop.get("room", ROOM)
        config = cache_of(loop, engine)
        block, hashed = kv.resolve_kv_cache_block_sizes(config, engine)
        self.scheduler = AsyncScheduler(vllm_config=engine, kv_cache_config=config, block_size=block,
                                        hash_block_size=hashed, structured_output_manager=StructuredOutputManager(engine))
        # Since 0.33 a block's hash covers the tokens behind it that the drafts need.
        ahead = getattr(engine, "num_hash_lookahead_tokens", 0)
        self.hasher = kv.get_request_block_hasher(hashed, sha256, *([ahead] if ahead else []))
        self.calls = 0

    def call(self, prompt, answer):
        """The tokens that it finds again, and its answer."""
        self.calls += 1
        name = str(self.calls)
        request = Request(name, prompt, SamplingParams(max_tokens=answer, ignore_eos=True), None, block_hasher=self.hasher)
        self.scheduler.add_request(request)
        steps, found = deque(), None
        while not request.is_finished():
            step = self.scheduler.schedule()
            if step.num_scheduled_tokens:
                steps.append((step, request.num_computed_tokens >= len(prompt)))
                if step.scheduled_new_reqs:
                    found = step.scheduled_new_reqs[0].num_computed_tokens
            elif not steps:
                raise RuntimeError(f"a prompt of {len(prompt)} tokens is never scheduled")
            if len(steps) == STEPS_AT_ONCE or not step.num_scheduled_tokens:
                self.finish(name, request, *steps.popleft())
        while steps:
            self.finish(name, request, *steps.popleft())
        return found, list(request.output_token_ids)

    def finish(self, name, request, step, answered):
        # Of the drafts each step takes one more than the last, then none.
        drafts = len(step.scheduled_spec_decode_tokens.get(name, []))
        taken = request.num_output_tokens % (drafts + 1)
        self.scheduler.update_from_output(step, ModelRunnerOutput(
            req_ids=[name], req_id_to_index={name: 0}, sampled_token_ids=[[0] * (1 + taken) if answered else []],
            logprobs=None, prompt_logprobs_dict={}, pooler_output=[None]))


def found_by(server, loop):
    said, found = {}, []
    for agent, length, answer in loop["calls"]:
        before = said.get(agent, [])
        new = range(len(before), length)
        prompt = before + [at if at < loop["shared"] else at + 1_000_000 * (agent + 1) for at in new]
        tokens, answered = server.call(prompt, answer)
        found.append(tokens)
        said[agent] = prompt + answered
    return found


def driven(loops):
    kv.init_none_hash(sha256)
    engines = {}
    for loop in loops:
        key = json.dumps([loop[name] for name in ("chunk", "drafts")] + [loop.get("engine")])
        engines[key] = engines.get(key) or engine_of(loop)
        try:
            yield found_by(Server(engines[key], loop), loop)
        except (RuntimeError, ValueError, AssertionError) as error:
            yield f"{type(error).__name__}: {error}"


def drawn(count):
    """Loops of 1 to 4 agents around 30K; some prompts are whole blocks, some answers cross blocks."""
    for _ in range(count):
        hybrid = random.random() < 0.85
        block = random.choice([544, 784, 832, 1056, 1568, 1600, 2096, 2144, 2176]) if hybrid else 16
        chunk, drafts = random.choice([(8192, 0), (8192, 0), (8192, 2), (4096, 0), (4096, 3), (16384, 1)])
        agents = random.choice([1, 1, 2, 3, 4])
        shared = random.randint(4000, 28000) if agents > 1 else 0
        said, calls = {}, []
        for _ in range(random.randint(4, 6) if agents == 1 else random.randint(5, 9)):
            agent = random.randrange(agents)
            first = max(shared, random.choice([random.randint(2000, 40000), random.randint(28000, 32000)]))
            prompt = said.get(agent, first) + random.randint(1000, 4000)
            if hybrid and random.random() < 0.15:
                prompt += -prompt % block
            answer = random.randint(1, 600) if random.random() < 0.9 else random.randint(600, 2400)
            said[agent] = prompt + answer
            calls.append([agent, prompt, answer])
        yield {"hybrid": hybrid, "block": block, "chunk": chunk, "drafts": drafts, "shared": shared, "calls": calls}


if sys.argv[1] == "--draw":
    random.seed(int(sys.argv[2]))
    print("\n".join(json.dumps(loop, separators=(",", ":")) for loop in drawn(int(sys.argv[3]))))
else:
    found = list(driven(json.loads(Path(sys.argv[1]).read_text())))
    print("FOUND" + json.dumps({"version": vllm.__version__, "found": found}))
