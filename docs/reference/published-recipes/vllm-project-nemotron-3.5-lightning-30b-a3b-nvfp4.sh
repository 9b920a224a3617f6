# https://github.com/vllm-project/recipes/blob/8959cf64189c71d36e11c6a30335f923f261b1f7/models/nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16.yaml, of 2026-08-21, for dgx_spark_gb10; read 2026-11-30
vllm serve nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4 \
  --gpu-memory-utilization 0.7 \
  --max-num-batched-tokens 16384 \
  --mamba-backend flashinfer \
  --mamba-cache-mode align \
  --moe-backend marlin \
  --kv-cache-dtype fp8 \
  --load-format fastsafetensors \
  --enable-prefix-caching
