# https://github.com/eugr/spark-vllm-docker/blob/6d4e37aaa038167dc7e72f131f1b4c6cf5c1af7f/recipes/glm-4.7-flash-awq.yaml (in its network of forks), on one machine; read 2026-11-30
vllm serve cyankiwi/GLM-4.7-Flash-AWQ-4bit \
  --gpu-memory-utilization 0.7 \
  --max-model-len 202752 \
  --max-num-seqs 64 \
  --max-num-batched-tokens 4096
