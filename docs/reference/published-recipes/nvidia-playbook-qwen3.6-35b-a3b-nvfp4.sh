# https://github.com/NVIDIA/dgx-spark-playbooks/blob/0db7c141da60870ca6ed5c99436320f4e35cd531/nvidia/vllm/README.md, of 2026-07-24; read 2026-11-30
vllm serve nvidia/Qwen3.6-35B-A3B-NVFP4 \
  --gpu-memory-utilization 0.4 \
  --max-model-len 262144 \
  --max-num-seqs 4 \
  --max-num-batched-tokens 8192 \
  --trust-remote-code \
  --attention-backend flashinfer \
  --moe-backend marlin \
  --kv-cache-dtype fp8 \
  --load-format fastsafetensors \
  --enable-prefix-caching \
  --speculative-config '{"method":"mtp","num_speculative_tokens":3,"moe_backend":"triton"}'
