# https://github.com/eugr/spark-vllm-docker/blob/6d4e37aaa038167dc7e72f131f1b4c6cf5c1af7f/recipes/qwen3.5-122b-int4-autoround.yaml (in its network of forks), on one machine; read 2026-11-30
vllm serve Intel/Qwen3.5-122B-A10B-int4-AutoRound \
  --gpu-memory-utilization 0.7 \
  --max-model-len 262144 \
  --max-num-batched-tokens 8192 \
  --trust-remote-code \
  --load-format fastsafetensors \
  --enable-prefix-caching
