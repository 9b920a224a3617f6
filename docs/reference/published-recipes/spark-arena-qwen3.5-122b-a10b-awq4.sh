# https://github.com/spark-arena/recipe-registry/blob/307578001460733fcb9335d0e84f8d3e38e40552/experimental-recipes/qwen3.5/vllm/qwen3.5-122b-a10b-awq4-vllm.yaml, of 2026-06-13; read 2026-11-30
vllm serve cyankiwi/Qwen3.5-122B-A10B-AWQ-4bit \
  --gpu-memory-utilization 0.7 \
  --max-model-len 262144 \
  --max-num-batched-tokens 8192 \
  --load-format fastsafetensors \
  --enable-prefix-caching
