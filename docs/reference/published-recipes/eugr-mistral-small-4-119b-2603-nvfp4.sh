# https://github.com/eugr/spark-vllm-docker/blob/241f131d410f98a9d468766ab52a63e2c0edd415/recipes/mistral-small-4-119b-2603-nvfp4.yaml (in its network of forks), on one machine; read 2026-11-30
vllm serve mistralai/Mistral-Small-4-119B-2603-NVFP4 \
  --gpu-memory-utilization 0.8 \
  --max-model-len 262144 \
  --max-num-batched-tokens 16384 \
  --attention-backend TRITON_MLA
