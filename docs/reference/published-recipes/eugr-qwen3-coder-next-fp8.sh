# https://github.com/eugr/spark-vllm-docker/blob/64a09562ae6df08168a73f29ca7a55182d43a868/recipes/qwen3-coder-next-fp8.yaml (in its network of forks), on one machine; read 2026-11-30
vllm serve Qwen/Qwen3-Coder-Next-FP8 \
  --gpu-memory-utilization 0.85 \
  --max-model-len 204800 \
  --max-num-batched-tokens 16384 \
  --attention-backend flashinfer \
  --kv-cache-dtype fp8 \
  --load-format fastsafetensors \
  --enable-prefix-caching
