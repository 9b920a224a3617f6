# https://github.com/eugr/spark-vllm-docker/blob/6d4e37aaa038167dc7e72f131f1b4c6cf5c1af7f/recipes/openai-gpt-oss-120b.yaml (in its network of forks), on one machine; read 2026-11-30
vllm serve openai/gpt-oss-120b \
  --gpu-memory-utilization 0.7 \
  --max-num-batched-tokens 8192 \
  --quantization mxfp4 \
  --attention-backend FLASHINFER \
  --kv-cache-dtype fp8 \
  --load-format fastsafetensors \
  --enable-prefix-caching
