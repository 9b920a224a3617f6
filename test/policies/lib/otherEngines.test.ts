import { SOME_WORDS, UNKNOWN, type Word } from "@local-serving/vllm/argv/unknown";
import { describe, expect, it } from "vitest";
import {
  engineOf,
  isEngineProgram,
  isShare,
  namesShare,
  ownEngine,
} from "../../../policies/lib/otherEngines";

const words = (text: string) => text.split(" ");

/** The share of the engine that a command loads, and the option that sets it. */
function read(command: readonly Word[]) {
  const engine = engineOf(command);
  return engine && [engine.args.options.get("gpu-memory-utilization")?.[0], engine.option];
}

const VLLMS = "--gpu-memory-utilization";
const SWIFTS = "--vllm_gpu_memory_utilization";

describe("the share that a program gives vLLM", () => {
  it.each<[string, [Word, string] | undefined]>([
    ["swift deploy --infer_backend vllm", ["0.9", SWIFTS]],
    ["swift deploy --infer_backend=vllm", ["0.9", SWIFTS]],
    ["swift deploy --infer_backend pt", undefined],
    ["swift rlhf --use_vllm true --vllm_mode server", undefined],
    ["swift rlhf --use_vllm true", ["0.9", SWIFTS]],
    ["swift rollout", ["0.9", SWIFTS]],
    ["/opt/venv/bin/swift rollout", ["0.9", SWIFTS]],
    ["python3 -m swift.cli.rollout", ["0.9", SWIFTS]],
    ["python3.12 -m swift.cli.rollout", ["0.9", SWIFTS]],
    ["xpython -m swift.cli.rollout", undefined],
    ["python3x -m swift.cli.rollout", undefined],
    ["torchrun --nproc_per_node 1 -m swift.cli.rollout", ["0.9", SWIFTS]],
    ["deepspeed --x 1 -m swift.cli.rollout", ["0.9", SWIFTS]],
    ["accelerate launch -m swift.cli.rollout", ["0.9", SWIFTS]],
    ["python3 -V swift rollout", undefined],
    ["--x swift rollout", undefined],
    ["xaccelerate launch -m swift.cli.rollout", undefined],
    ["acceleratex launch -m swift.cli.rollout", undefined],
    ["/x --y -m swift.cli.rollout", undefined],
    ["/x --y swift rollout", undefined],
    ["A=1 nohup swift rollout", ["0.9", SWIFTS]],
    ["lm_eval --model vllm", ["0.9", "gpu_memory_utilization in --model_args"]],
    ["lm_eval --model hf", undefined],
    ["python3 -m openrlhf.cli.train_ppo_ray --vllm_num_engines 2", ["0.95", SWIFTS]],
    ["python3 -m openrlhf.cli.train_ppo_ray --vllm_num_engines 0", undefined],
    [
      "python3 -m openrlhf.cli.batch_inference --eval_task generate_vllm",
      ["0.92", "the share in batch_inference.py"],
    ],
    [
      "python3 -m verl.trainer.main_ppo",
      ["0.5", "actor_rollout_ref.rollout.gpu_memory_utilization"],
    ],
    ["python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.name=hf", undefined],
    ["trl vllm-serve", ["0.9", "--gpu_memory_utilization"]],
    ["trl grpo --use_vllm true", ["0.3", SWIFTS]],
    ["trl grpo --use_vllm", ["0.3", SWIFTS]],
    ["trl grpo --use_vllm False", undefined],
    ["trl grpo --use_vllm --vllm_mode server", undefined],
    ["lighteval vllm model_name=m t", ["0.9", "gpu_memory_utilization of its model"]],
    ["lighteval endpoint litellm m t", undefined],
    ["llamafactory-cli api --infer_backend vllm", ["0.7", "vllm_gpu_util"]],
    ["python3 -m dynamo.vllm --model m", ["0.92", VLLMS]],
    ["python3 -m fastchat.serve.vllm_worker", ["0.9", "--gpu_memory_utilization"]],
    [
      "guidellm run --backend kind=vllm_python,model=m",
      ["0.92", "gpu_memory_utilization of its backend"],
    ],
    ["BACKEND=vllm_python /opt/bin/guidellm", ["0.92", "gpu_memory_utilization of its backend"]],
    ["sleep infinity", undefined],
    ["x --vllm_gpu_memory_utilization 0.4", ["0.4", "--vllm_gpu_memory_utilization"]],
    ["x -vllm-gpu-memory-utilisation 0.4", ["0.4", "-vllm-gpu-memory-utilisation"]],
    ["x --vllm_gpu_memory_utilization=0.4", ["0.4", "--vllm_gpu_memory_utilization"]],
    ["x --vllm_gpu_memory_utilization", [UNKNOWN, "--vllm_gpu_memory_utilization"]],
    ["x --a.gpu-memory-utilization 0.4", ["0.4", "--a.gpu-memory-utilization"]],
    ["x --my_gpu_memory_utilizations 0.4", undefined],
    ["x gpu_memory_utilization 0.4", undefined],
    ["x a.b.gpu_memory_utilization=0.4", ["0.4", "a.b.gpu_memory_utilization"]],
    ["x ++a.my_gpu_memory_utilization=0.4", ["0.4", "a.my_gpu_memory_utilization"]],
    ["x a.my_gpu_memory_utilization=0.4", ["0.4", "a.my_gpu_memory_utilization"]],
    ["x--gpu-memory-utilization=0.4", undefined],
    ["x --x --y--gpu-memory-utilization=0.4", ["0.4", "--y--gpu-memory-utilization"]],
    ["x a=b,gpu_memory_utilization=.4,c=d", [".4", "gpu_memory_utilization"]],
    ["x agpu_memory_utilization=0.4", undefined],
    ["x gpu_memory_utilization=high", undefined],
    ["x vllm_gpu_util=+0.4", ["+0.4", "vllm_gpu_util"]],
    ["x --vllm_gpu_util 0.4", ["0.4", "--vllm_gpu_util"]],
    ["x gpu_util=0.4", undefined],
    [
      "x --a gpu_memory_utilization=0.4 --b_gpu_memory_utilization 0.6",
      ["0.6", "--b_gpu_memory_utilization"],
    ],
    [
      "x --b_gpu_memory_utilization 0.6 gpu_memory_utilization=0.4",
      ["0.6", "--b_gpu_memory_utilization"],
    ],
    [
      "x --a_gpu_memory_utilization 0.6 --b_gpu_memory_utilization 0.60",
      ["0.6", "--a_gpu_memory_utilization"],
    ],
    ["x gpu_memory_utilization=0.9,gpu_memory_utilization=0.1", ["0.9", "gpu_memory_utilization"]],
    [
      "x gpu_memory_utilization=0.9 gpu_memory_utilization=0.1x",
      ["0.1x", "gpu_memory_utilization"],
    ],
    ["x gpu_memory_utilization=0.9 gpu_memory_utilization=-1", ["-1", "gpu_memory_utilization"]],
    ["x gpu_memory_utilization=0.9 gpu_memory_utilization=0", ["0", "gpu_memory_utilization"]],
  ])("%s: %o", (command, share) => expect(read(words(command))).toEqual(share));

  it("is read in JSON, with blanks, and where a word is not known", () => {
    expect(read(["x", '{"a": {"gpu_memory_utilization": 0.4}}'])).toEqual([
      "0.4",
      "gpu_memory_utilization",
    ]);
    expect(read(["x", "{'gpu_memory_utilization' : '0.4'}"])?.[0]).toBe("0.4");
    expect(read(["x", "[gpu_memory_utilization=0.4]"])).toBeUndefined();
    expect(read(["x", "a gpu_memory_utilization=0.5 b"])?.[0]).toBe("0.5");
    expect(
      read(["x", "--vllm_gpu_memory_utilization", UNKNOWN, "gpu_memory_utilization=1"]),
    ).toEqual([UNKNOWN, "--vllm_gpu_memory_utilization"]);
    expect(read(["swift", UNKNOWN, "--infer_backend", "vllm"])?.[0]).toBe("0.9");
    expect(read(["swift", UNKNOWN, UNKNOWN, "--infer_backend", "vllm"])?.[0]).toBe("0.9");
    const evaluates = (...more: Word[]) => read(["lm_eval", "--model", "vllm", ...more])?.[0];
    expect(evaluates("--model_args", UNKNOWN)).toBe(UNKNOWN);
    expect(evaluates("-a", UNKNOWN)).toBe(UNKNOWN);
    expect(evaluates("--model_args", "pretrained=m")).toBe("0.9");
    expect(evaluates("--model_args=pretrained=m", UNKNOWN)).toBe("0.9");
    expect(evaluates("--x-a", UNKNOWN)).toBe("0.9");
    expect(
      read(["lm_eval", "--model", "vllm", "--model_args", "gpu_memory_utilization=1", SOME_WORDS]),
    ).toEqual([UNKNOWN, "gpu_memory_utilization"]);
    expect(read(["swift", "deploy", "--infer_backend", "vllm", SOME_WORDS])).toEqual([
      UNKNOWN,
      "--vllm_gpu_memory_utilization",
    ]);
    expect(read(["x", "gpu_memory_utilization=0.4", SOME_WORDS])?.[0]).toBe("0.4");
    expect(read([UNKNOWN, "x"])).toBeUndefined();
    expect(read(["swift", "deploy", "--infer_backend", UNKNOWN])).toBeUndefined();
    expect(read(["python3", "-m", UNKNOWN])).toBeUndefined();
  });
});

it("a program is known by its command alone, whatever share it names", () => {
  expect(isEngineProgram(words("trl vllm-serve --vllm_gpu_memory_utilization 0.4"))).toBe(true);
  expect(isEngineProgram(words("x --vllm_gpu_memory_utilization 0.4"))).toBe(false);
});

it("vLLM's own option is told from those with something in front of it", () => {
  expect(isShare("--gpu-memory-utilization")).toBe(true);
  expect(isShare("--device_memory_utilization=1")).toBe(true);
  expect(isShare("--gpu-memory-utilizations")).toBe(false);
  expect(isShare("x--gpu-memory-utilization")).toBe(false);
  expect(namesShare(["x", "--gpu-memory-utilization", UNKNOWN])).toBe(true);
  expect(namesShare([UNKNOWN, "x"])).toBe(false);
});

it("an engine of vLLM's own is read by vLLM's options", () => {
  const { args, option } = ownEngine(words("--model m --gpu-memory-utilization 0.4"));
  expect(args.options.get("gpu-memory-utilization")).toEqual(["0.4"]);
  expect(option).toBe(VLLMS);
});
