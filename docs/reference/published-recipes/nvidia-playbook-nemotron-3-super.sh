# https://github.com/NVIDIA/dgx-spark-playbooks/blob/0db7c141da60870ca6ed5c99436320f4e35cd531/nvidia/nemotron/README.md, of 2026-07-24; read 2026-11-30
vllm serve nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4 \
  --gpu-memory-utilization 0.90 \
  --max-model-len 1000000 \
  --max-num-seqs 4 \
  --trust-remote-code \
  --moe-backend marlin \
  --quantization fp4 \
  --kv-cache-dtype fp8 \
  --speculative-config '{"method":"mtp","num_speculative_tokens":3,"moe_backend":"triton"}'
