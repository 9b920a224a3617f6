# https://github.com/eugr/spark-vllm-docker/blob/6d4e37aaa038167dc7e72f131f1b4c6cf5c1af7f/recipes/gemma4-26b-a4b.yaml (in its network of forks), on one machine; read 2026-11-30
vllm serve google/gemma-4-26B-A4B-it \
  --gpu-memory-utilization 0.7 \
  --max-model-len 262144 \
  --max-num-batched-tokens 8192 \
  --quantization fp8 \
  --kv-cache-dtype fp8 \
  --load-format fastsafetensors \
  --enable-prefix-caching
