# https://github.com/eugr/spark-vllm-docker/blob/7ea5c338ca86b646018ab56f5ee4fcaf491e624c/recipes/gemma4-31b-it-nvfp4.yaml (in its network of forks), on one machine; read 2026-11-30
vllm serve nvidia/Gemma-4-31B-IT-NVFP4 \
  --gpu-memory-utilization 0.7 \
  --max-model-len 262144 \
  --max-num-batched-tokens 8192 \
  --kv-cache-dtype fp8 \
  --load-format instanttensor \
  --enable-prefix-caching \
  --speculative-config '{"method":"mtp","model":"google/gemma-4-31B-it-assistant","num_speculative_tokens":4}'
