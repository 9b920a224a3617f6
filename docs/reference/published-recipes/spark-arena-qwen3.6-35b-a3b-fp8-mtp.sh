# https://github.com/spark-arena/recipe-registry/blob/307578001460733fcb9335d0e84f8d3e38e40552/official-recipes/qwen3.6/vllm/qwen3.6-35b-a3b-fp8-mtp-vllm.yaml, of 2026-06-13; read 2026-11-30
vllm serve Qwen/Qwen3.6-35B-A3B-FP8 \
  --gpu-memory-utilization 0.8 \
  --max-model-len 262144 \
  --max-num-batched-tokens 32768 \
  --trust-remote-code \
  --attention-backend flashinfer \
  --kv-cache-dtype fp8 \
  --load-format instanttensor \
  --enable-prefix-caching \
  --speculative-config '{"method":"mtp","num_speculative_tokens":2}'
