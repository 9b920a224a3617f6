# https://github.com/eugr/spark-vllm-docker/blob/6d4e37aaa038167dc7e72f131f1b4c6cf5c1af7f/recipes/qwen3.5-35b-a3b-fp8.yaml (in its network of forks), on one machine; read 2026-11-30
vllm serve Qwen/Qwen3.5-35B-A3B-FP8 \
  --gpu-memory-utilization 0.7 \
  --max-model-len 262144 \
  --max-num-batched-tokens 16384 \
  --attention-backend flashinfer \
  --kv-cache-dtype fp8 \
  --load-format fastsafetensors \
  --enable-prefix-caching
