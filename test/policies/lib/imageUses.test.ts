import { describe, expect, it } from "vitest";
import { holdsVllm, isOtherProgram, repositoryIn } from "../../../policies/lib/imageUses";

describe("a repository", () => {
  it.each([
    ["vllm/vllm-openai", true],
    ["docker.io/vllm/vllm-openai-cpu", true],
    ["nvcr.io/nvidia/vllm", true],
    ["rocm/vllm-dev", true],
    ["public.ecr.aws/q9t5s3a7/vllm-release-repo", true],
    ["ghcr.io/vllm-project/vllm", true],
    ["lmcache/vllm-openai", true],
    ["VLLM-spark", true],
    ["scitrera/dgx-spark-VLLM", true],
    ["eugr/spark-vllm-b12x", true],
    ["own/eugr/spark-vllm", true],
    ["ghcr.io/llm-d/LLM-D-cuda", true],
    ["ghcr.io/llm-d/llm-d", true],
    ["ghcr.io/llm-d/llm-d-inference-scheduler", false],
    ["neugr/spark-vllm-b12x", false],
    ["vllm/server", false],
    ["my-vllm/server", false],
    ["own/vllm/x", false],
    ["own/xvllm", false],
    ["own/spark-vllm-x", false],
    ["own/vllm-router", false],
    ["own/vllm-metrics", false],
    ["ghcr.io/vllm-project/semantic-router/vllm-sr", false],
    ["ghcr.io/vllm-project/semantic-router/mock-vllm", false],
  ])("%s holds vLLM: %s", (repository, holds) => expect(holdsVllm(repository)).toBe(holds));

  it.each([
    ["ghcr.io/VLLM-Project/GuideLLM", true],
    ["lmcache/lmstack-router", true],
    ["nginx", true],
    ["own/nginx-unprivileged", true],
    ["own/nginxvllm", false],
    ["own/server", false],
    ["my-vllm/server", false],
    ["own/spark-vllm-docker", false],
  ])("%s is another program's: %s", (repository, is) =>
    expect(isOtherProgram(repository)).toBe(is),
  );

  it.each([
    ["own/x", "own/x"],
    ["r:5000/own/x", "r:5000/own/x"],
    ["r:5000/own/x:1", "r:5000/own/x"],
    ["own/x:1@sha256:abc", "own/x"],
    ["own/x@sha256:a\nb", "own/x"],
  ])("of %s is %s", (image, repository) => expect(repositoryIn(image)).toBe(repository));
});
