# https://github.com/eugr/spark-vllm-docker/blob/27123da6e64d3681c807e5df9b798d1c412e7d86/recipes/qwen3.8-flash-next-nvfp4.yaml (in its network of forks), on one machine; read 2026-11-30
vllm serve RadixArk/Qwen3.8-Flash-Next-NVFP4 \
  --gpu-memory-utilization 0.85 \
  --max-model-len 262144 \
  --max-num-seqs 4 \
  --max-num-batched-tokens 8192 \
  --trust-remote-code \
  --kv-cache-dtype fp8 \
  --enable-prefix-caching \
  --speculative-config '{"method":"mtp","num_speculative_tokens":3}'
