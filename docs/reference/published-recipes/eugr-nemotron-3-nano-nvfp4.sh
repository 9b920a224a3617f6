# https://github.com/eugr/spark-vllm-docker/blob/3c4eea59cf9cee27fa1a0b37c049d141f596aa51/recipes/nemotron-3-nano-nvfp4.yaml (in its network of forks), on one machine; read 2026-11-30
vllm serve nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4 \
  --gpu-memory-utilization 0.7 \
  --max-model-len 262144 \
  --trust-remote-code \
  --moe-backend cutlass \
  --kv-cache-dtype fp8 \
  --load-format fastsafetensors \
  --enable-prefix-caching
