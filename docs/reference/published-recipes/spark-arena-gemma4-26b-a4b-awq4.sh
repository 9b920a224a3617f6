# https://github.com/spark-arena/recipe-registry/blob/307578001460733fcb9335d0e84f8d3e38e40552/experimental-recipes/gemma4/gemma4-26b-a4b-awq4-vllm.yaml, of 2026-06-13; read 2026-11-30
vllm serve cyankiwi/gemma-4-26B-A4B-it-AWQ-4bit \
  --gpu-memory-utilization 0.8 \
  --max-model-len 262144 \
  --max-num-batched-tokens 8192 \
  --trust-remote-code \
  --kv-cache-dtype fp8 \
  --load-format fastsafetensors \
  --enable-prefix-caching
