# https://github.com/eugr/spark-vllm-docker/blob/27eb108cee626900e21e2144641cdee945a72250/recipes/nemotron-3-super-nvfp4.yaml (in its network of forks), on one machine; read 2026-11-30
vllm serve nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4 \
  --gpu-memory-utilization 0.7 \
  --max-model-len 262144 \
  --max-num-seqs 10 \
  --trust-remote-code \
  --moe-backend cutlass \
  --kv-cache-dtype fp8 \
  --load-format fastsafetensors \
  --enable-prefix-caching \
  --attention-backend TRITON_ATTN
