# https://github.com/NVIDIA/NemoClaw/blob/4dadaecfd5b26cc3142bae98870f837a231d5eca/docs/inference/dgx-spark-recipe.mdx; read 2026-11-30
docker run --gpus all --ipc=host nvcr.io/nvidia/vllm:26.05.post1-py3 vllm serve nvidia/Qwen3.6-35B-A3B-NVFP4 \
  --gpu-memory-utilization 0.4 \
  --max-model-len 262144 \
  --max-num-seqs 4 \
  --max-num-batched-tokens 8192 \
  --trust-remote-code \
  --quantization modelopt \
  --attention-backend flashinfer \
  --moe-backend marlin \
  --kv-cache-dtype fp8 \
  --load-format fastsafetensors \
  --enable-prefix-caching \
  --speculative-config '{"method":"mtp","num_speculative_tokens":3,"moe_backend":"triton"}'
