import { isPlaceholder, isSecretName } from "@local-serving/base/faults/secrets";
import { shareFrom } from "@local-serving/vllm/argv/memoryDemand";
import { plainProps, UNKNOWN } from "@local-serving/vllm/argv/unknown";
import { largestThatFits, shareText, tenThousandths } from "@local-serving/vllm/utilization";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atLeast, isPep440, series } from "../../../components/supply/releases/releases";
import { roleByName } from "../../../policies/lib/role";
import {
  DIGEST,
  UNKNOWN_LIST,
  UNKNOWN_NUMBER,
  UNKNOWN_TEXT,
  unknownCheckingProxy,
} from "../../policies/declared";

describe("plainProps", () => {
  it("puts a symbol where a value is not known, and keeps the rest", () => {
    const props = unknownCheckingProxy({
      image: UNKNOWN_TEXT,
      command: ["a", UNKNOWN_TEXT, "b"],
      ports: [{ external: UNKNOWN_NUMBER, internal: 1 }],
      envs: UNKNOWN_LIST,
      gpus: "all",
      none: null,
    });
    expect(plainProps(props)).toEqual({
      image: UNKNOWN,
      command: ["a", UNKNOWN, "b"],
      ports: [{ external: UNKNOWN, internal: 1 }],
      envs: UNKNOWN,
      gpus: "all",
      none: null,
    });
  });

  it("takes an output that is not resolved for unknown", () => {
    expect(plainProps({ image: { __pulumiOutput: true } })).toEqual({ image: UNKNOWN });
  });

  it("lets any other failure through", () => {
    const props = Object.defineProperty({}, "image", {
      enumerable: true,
      get: () => {
        throw new Error("broken");
      },
    });
    expect(() => plainProps(props)).toThrow("broken");
  });
});

describe("roleByName", () => {
  it.each([
    ["vllm/vllm-openai:v0.30.0", "inference-server"],
    ["nvcr.io/nvidia/vllm:25.10-py3", "inference-server"],
    [`localhost:5000/vllm-stub@${DIGEST}`, "inference-server"],
    ["ghcr.io/someone/spark-vllm:1", "inference-server"],
    ["ghcr.io/berriai/litellm:v1.103.0", "bridge"],
    ["ghcr.io/open-webui/open-webui:v0.11.3", "chat-ui"],
    ["ollama/ollama", "simple-server"],
    ["nginx:vllm", undefined],
    ["nginx:1.27", undefined],
  ])("%s is %s", (image, role) => expect(roleByName(image)).toBe(role));
});

describe("versions in the order of PEP 440", () => {
  it.each([
    ["0.26.0", true],
    ["0.26", true],
    ["v0.26.0", true],
    ["0.26.0rc1", false],
    ["0.26.0.dev5+g1a2b3c", false],
    ["0.26.0.post1", true],
    ["0.26.0+cu130", true],
    ["0.27.1.dev3+gabc", true],
    ["0.25.9", false],
    ["0.9.2", false],
    ["0.1.dev1+gabc", false],
    ["1!0.1", true],
  ])("%s reaches 0.26.0: %s", (version, reaches) => {
    expect(isPep440(version)).toBe(true);
    expect(atLeast(version, "0.26.0")).toBe(reaches);
  });

  it.each(["nightly", "", "0.26.x", "cu130-nightly-abc"])("%s is none", (version) =>
    expect(isPep440(version)).toBe(false),
  );

  it.each([
    ["0.27.1.dev3+gabc", "0.27"],
    ["0.30.0rc2", "0.30"],
    ["1", "1.0"],
    ["nightly", undefined],
  ])("series of %s is %s", (version, expected) => expect(series(version)).toBe(expected));
});

describe("shares", () => {
  it.each([
    [0.45, 4500],
    [0.9, 9000],
    [0.7, 7000],
    [0.90001, 9001],
    [0.1 + 0.2, 3000],
  ])("%s is %s ten-thousandths", (share, whole) => expect(tenThousandths(share)).toBe(whole));

  it("takes every share of up to four decimals exactly", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), (whole) => {
        expect(tenThousandths(whole / 10_000)).toBe(whole);
        expect(Number(shareText(whole))).toBe(whole / 10_000);
      }),
    );
  });

  it("names a share that fits, and none that is larger by 0.01", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 12_000 }), (others) => {
        const fits = largestThatFits(9000, others);
        expect(fits % 100).toBe(0);
        if (fits > 0) expect(fits + others).toBeLessThanOrEqual(9000);
        expect(fits + 100 + others).toBeGreaterThan(9000);
      }),
    );
  });

  it.each(["0", "-0.5", "1.2", "nan", "inf", "1_0", "", "0.5x", "$SHARE"])(
    "%j is none",
    (written) => expect(shareFrom(written, "x").known).toBe(false),
  );
  it.each([".45", "4.5e-1", "0.450", " 0.45"])("%j is 0.45", (written) =>
    expect(shareFrom(written, "x")).toMatchObject({ known: true, tenThousandths: 4500 }),
  );
});

describe("secret-like names", () => {
  it.each([
    "HF_TOKEN",
    "OPENAI_API_KEY",
    "litellm_master_key",
    "DB_PASSWORD",
    "CLIENT_SECRET",
    "VLLM_API_KEY",
  ])("%s is one", (name) => expect(isSecretName(name)).toBe(true));
  it.each([
    "HF_TOKEN_PATH",
    "WEBUI_SECRET_KEY_FILE",
    "MAX_TOKENS",
    "SSH_PUBLIC_KEY",
    "PWD",
    "TOKENIZERS_PARALLELISM",
    "KEYBOARD",
    "API_KEY_ENV",
  ])("%s is none", (name) => expect(isSecretName(name)).toBe(false));
});

describe("placeholders", () => {
  it.each([
    "",
    "<API_KEY>",
    `\${HF_TOKEN}`,
    "$HF_TOKEN",
    "placeholder",
    "EMPTY",
    "none",
    "sk-placeholder",
    "sk-no-key-required",
    "not-needed",
    "local",
  ])("%j is one", (value) => expect(isPlaceholder(value)).toBe(true));
  it.each(["hf_abcdefgh", "sk-1234567890", "hunter2", `\${A}b`, "<a>b"])("%j is none", (value) =>
    expect(isPlaceholder(value)).toBe(false),
  );
});
