# https://github.com/eugr/spark-vllm-docker/blob/5bdfb60e67ecbb037a648f8bc5215acb326feb7b/recipes/qwen3.8-27b-nvfp4.yaml (in its network of forks), on one machine; read 2026-11-30
vllm serve unsloth/Qwen3.8-27B-NVFP4 \
  --gpu-memory-utilization 0.5 \
  --max-model-len 262144 \
  --max-num-seqs 4 \
  --max-num-batched-tokens 8192 \
  --attention-backend flashinfer \
  --kv-cache-dtype fp8 \
  --load-format fastsafetensors \
  --enable-prefix-caching
