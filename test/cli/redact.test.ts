import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lineRedactor, redact } from "../../cli/programs/redact";

/** Not a real token of anything: only its form counts. */
const BODY = "Zk3mQ8vT1xWcRb7NdLpY5sHgJf2aEuKo";

const secrets: readonly [name: string, line: string, secret: string][] = [
  ["Hugging Face", `Using token hf_${BODY} for download`, `hf_${BODY}`],
  ["OpenAI form", `key sk-${BODY} rejected`, `sk-${BODY}`],
  ["GitHub", `remote https://ghp_${BODY}@github.com`, `ghp_${BODY}`],
  ["NVIDIA", `NGC nvapi-${BODY}`, `nvapi-${BODY}`],
  ["AWS", "id AKIAABCDEFGHIJKLMNOP", "AKIAABCDEFGHIJKLMNOP"],
  ["JWT", `cookie eyJhbGciOiJIUzI1NiJ9.${BODY}.${BODY}`, BODY],
  ["bearer", `Authorization: Bearer ${BODY}`, BODY],
  ["basic", `authorization: Basic ${BODY}==`, BODY],
  ["x-api-key", `'x-api-key': '${BODY}'`, BODY],
  ["shell variable", `HF_TOKEN=${BODY} vllm serve`, BODY],
  ["JSON", `{"api_key":"${BODY}","model":"m"}`, BODY],
  ["python dict", `non-default args: {'api_key': ['${BODY}'], 'port': 8001}`, BODY],
  ["the second of several keys", `{'api_key': ['one', '${BODY}'], 'port': 8001}`, BODY],
  ["a cookie", `> Cookie: session=x; id=${BODY}`, BODY],
  ["a cookie that is set", `< Set-Cookie: token=${BODY}; Path=/`, BODY],
  ["option", `vllm serve m --api-key ${BODY} --port 8001`, BODY],
  ["option with =", `vllm serve m --hf-token=${BODY}`, BODY],
  ["URL", `postgres://admin:${BODY}@db/x`, BODY],
  ["a line of .netrc alone", `  password ${BODY}`, BODY],
  ["password", `WEBUI_ADMIN_PASSWORD: ${BODY}`, BODY],
];

describe("a line that is shown", () => {
  it.each(secrets)("holds no secret: %s", (_name, line, secret) => {
    expect(redact(line)).not.toContain(secret);
    expect(redact(line)).toContain("<redacted>");
  });

  it.each([
    "Model loading took 21.94 GiB memory and 120.31 seconds",
    "max_tokens=32000, max_model_len: 262144, prompt_tokens: 4096",
    "KeyError: 'weight'",
    "OPENAI_API_KEY=placeholder",
    "Missing environment variable: `LOCAL_SERVING_API_KEY`.",
    "sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90",
    "api_key: <API_KEY>",
  ])("stays as it is without one: %s", (line) => expect(redact(line)).toBe(line));

  it("holds no control character and no terminal command", () => {
    expect(redact("\u001b[31mred\u001b[0m\u0007 \u0000x\ty")).toBe("red x y");
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 0x17f })), (codes) => {
        const text = String.fromCharCode(...codes);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must be gone
        expect(redact(text)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
      }),
    );
  });
});

describe("lines that come one by one", () => {
  const shown = (...lines: readonly string[]) => lines.map(lineRedactor());
  const BEGIN = "-----BEGIN RSA PRIVATE KEY-----";
  const END = "-----END RSA PRIVATE KEY-----";

  it("show no line of a private key, also behind a container's name", () => {
    const header = "Proc-Type: 4,ENCRYPTED";
    expect(shown("one", BEGIN, header, "", BODY + BODY, "Zk3m==", END, "two")).toEqual([
      "one",
      ...Array<string>(6).fill("<redacted>"),
      "two",
    ]);
    expect(shown(BODY + BODY, "Zk3m==", END, "two")).toEqual([
      ...Array<string>(3).fill("<redacted>"),
      "two",
    ]);
    const named = [BEGIN, BODY + BODY, END].map((line) => `vllm-1  | ${line}`);
    expect(shown(...named, "vllm-1  | two").join("\n")).not.toContain(BODY);
  });

  it("go on where a key breaks off, or has no end", () => {
    expect(shown(BEGIN, BODY, "INFO ready in 3 s", BODY)).toEqual([
      "<redacted>",
      "<redacted>",
      "INFO ready in 3 s",
      BODY,
    ]);
    expect(shown(BEGIN, ...Array<string>(300).fill(BODY)).at(-1)).toBe(BODY);
  });
});
