# https://github.com/spark-arena/recipe-registry/blob/307578001460733fcb9335d0e84f8d3e38e40552/experimental-recipes/qwen3.6/vllm-dflash/qwen3.6-27b-fp8-dflash-vllm.yaml, of 2026-06-13; read 2026-11-30
vllm serve Qwen/Qwen3.6-27B-FP8 \
  --gpu-memory-utilization 0.8 \
  --max-model-len 262144 \
  --max-num-batched-tokens 32768 \
  --trust-remote-code \
  --attention-backend flash_attn \
  --load-format fastsafetensors \
  --enable-prefix-caching \
  --speculative-config '{"method":"dflash","model":"z-lab/Qwen3.6-27B-DFlash","num_speculative_tokens":15}'
