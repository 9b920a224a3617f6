import { describe, expect, it } from "vitest";
import { notAHubId } from "../../components/planned/fields/hubId";

const COMMIT = "0123456789abcdef0123456789abcdef01234567";
const ADDRESS = "is an address of the hub: write `org/m`.";
const OLLAMAS =
  "is a name of Ollama's: write the model's hub id (`organisation/name`), or declare it in `simpleServer.models`.";
const PINNED = "and to pin it a commit of 40 hex digits as `revision`.";
const WINDOWS =
  "is a path as Windows writes it. For a folder of the machine, write the whole path, which starts with `/` or `~/`.";

describe("what is no hub id", () => {
  it.each([
    ["https://huggingface.co/org/m", ADDRESS],
    ["HTTPS://HuggingFace.co/org/m/", ADDRESS],
    ["huggingface.co/org/m?library=vllm", ADDRESS],
    ["hf.co/org/m:Q4_K_M", ADDRESS],
    ["hf://org/m@main", ADDRESS],
    ["https://huggingface.co/org/m/blob/main/config.json", ADDRESS],
    [
      `https://huggingface.co/org/m/tree/${COMMIT}`,
      `is an address of the hub: write \`org/m\` and \`revision: ${COMMIT}\`.`,
    ],
    ["org/m/tree/main", "is the path of a page: write `org/m`."],
    ["ORG/M@main", `names a revision, which no id has: write \`ORG/M\`, ${PINNED}`],
    [
      `org/m@${COMMIT}`,
      `names a revision, which no id has: write \`org/m\` and \`revision: ${COMMIT}\`.`,
    ],
    ["qwen3:8b", OLLAMAS],
    ["llama3.1:70b-instruct-q4_K_M", OLLAMAS],
    ["registry.ollama.ai/library/qwen3:8b", OLLAMAS],
    ["org/m:q4", "has a tag, as names of Ollama's have: write `org/m`."],
    ["a\\b", "has a backslash: write `a/b`."],
    ["C:\\models\\m", WINDOWS],
    ["models--org--m", "is the name of a folder in the model cache: write `org/m`."],
    ["org/m/", "has a slash too many: write `org/m`."],
    ["org//m", "has a slash too many: write `org/m`."],
    ["org/m#1", "isn't a hub id, which has letters, digits, `-`, `_` and `.` around one `/`."],
  ])("says of %s what to write", (id, message) =>
    expect(notAHubId(id)).toBe(`\`${id}\` ${message}`),
  );

  it.each([
    "org/m",
    "gpt2",
    "nvidia/Qwen3.6-35B-A3B-NVFP4",
    "unsloth/Qwen3-0.6B-GGUF:Q4_K_M",
    "/data/m@x",
    "~/m:x",
  ])("takes %s", (id) => expect(notAHubId(id)).toBeUndefined());
});
