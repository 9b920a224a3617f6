# https://github.com/spark-arena/recipe-registry/blob/307578001460733fcb9335d0e84f8d3e38e40552/official-recipes/qwen3-vl/vllm/qwen3-vl-embedding-8b-vllm.yaml, of 2026-06-13; read 2026-11-30
vllm serve Qwen/Qwen3-VL-Embedding-8B \
  --gpu-memory-utilization 0.3 \
  --max-model-len 32768 \
  --runner pooling \
  --trust-remote-code
