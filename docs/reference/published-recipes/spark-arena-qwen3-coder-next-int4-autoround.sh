# https://github.com/spark-arena/recipe-registry/blob/307578001460733fcb9335d0e84f8d3e38e40552/official-recipes/qwen3-coder-next/vllm/qwen3-coder-next-int4-autoround-vllm.yaml, of 2026-06-13; read 2026-11-30
vllm serve Intel/Qwen3-Coder-Next-int4-AutoRound \
  --gpu-memory-utilization 0.7 \
  --max-model-len 262144 \
  --max-num-seqs 128 \
  --max-num-batched-tokens 16384 \
  --kv-cache-dtype fp8 \
  --load-format fastsafetensors \
  --enable-prefix-caching \
  --mamba-cache-mode align
