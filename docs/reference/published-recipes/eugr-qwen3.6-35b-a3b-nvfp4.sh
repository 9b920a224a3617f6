# https://github.com/eugr/spark-vllm-docker/blob/0dee57c37b73044abdb804a25a1d6cf8c8035624/recipes/qwen3.6-35b-a3b-nvfp4.yaml (in its network of forks), on one machine; read 2026-11-30
vllm serve nvidia/Qwen3.6-35B-A3B-NVFP4 \
  --gpu-memory-utilization 0.4 \
  --max-model-len 262144 \
  --max-num-seqs 8 \
  --max-num-batched-tokens 8192 \
  --trust-remote-code \
  --attention-backend flashinfer \
  --moe-backend marlin \
  --kv-cache-dtype fp8 \
  --load-format fastsafetensors \
  --enable-prefix-caching \
  --speculative-config '{"method":"mtp","num_speculative_tokens":3,"moe_backend":"triton"}'
