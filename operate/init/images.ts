/**
 * The images that a new stack file pins: those of Pulumi.dgx.yaml, each digest seen in several public repositories (read
 * 2026-11-22).
 */
export const IMAGES = {
  server: "vllm/vllm-openai:v0.30.0@sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90",
  bridge: "ghcr.io/berriai/litellm:v1.103.0@sha256:bd089afdcd35b894b14a93f9743cdc8b591f82da1a38dd43a010a7b0c9de5fd7",
  chatUi:
    "ghcr.io/open-webui/open-webui:v0.11.3@sha256:41daa0cf2561a5d4c8d1ff31ee2a98d93ab4d3ac2605cac69366ff6a3374a933",
} as const;

/** What is known of the server's image until `serving pin` has read it. */
export const SERVER_VERSIONS = {
  vllm: "0.30.0",
  transformers: "5.10.4",
  evidence: "published",
  source: "metadata of the vllm 0.30.0 wheel (transformers >= 5.10.4)",
} as const;
