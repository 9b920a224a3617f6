import { readdirSync, readFileSync } from "node:fs";
import { newestEngineData } from "@local-serving/vllm/engineData";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BY_NAME, BY_VALUE } from "../../faults/secretForms";
import {
  holdsSecret,
  isSecretName,
  redactSecrets,
  replaced,
  secretPaths,
  withoutKeys,
} from "../../faults/secrets";
import { BAD, BODY, GOOD, KEYS, SERVICE_KEYS } from "./secretCorpus";

describe("a secret", () => {
  it.each(BAD)("is refused in a file and taken out of output: %s", (text, secret) => {
    expect(secretPaths({ a: ["b", text] })).toEqual([["a", 1]]);
    expect(redactSecrets(text)).not.toContain(secret);
    expect(redactSecrets(text)).toContain("<redacted>");
    expect(redactSecrets(redactSecrets(text))).toBe(redactSecrets(text));
  });

  it.each(KEYS)("is known by its own form, as a name too: %s", (key) => {
    expect(withoutKeys(`machines.${key}: unknown`)).toBe("machines.<redacted>: unknown");
    expect(secretPaths({ a: { [key]: 1 } })).toEqual([["a", key]]);
  });

  it("is the key of each service of the table, by each of its beginnings", () => {
    for (const key of SERVICE_KEYS.flat()) {
      expect(withoutKeys(`a ${key} b`)).toBe("a <redacted> b");
      expect(withoutKeys(`\u001b[31m${key}`)).toBe("\u001b[31m<redacted>");
    }
  });

  it("is known by the key of its map, by the word before it, and behind JSON's escapes", () => {
    const of = (value: unknown) => secretPaths(value).map((path) => path.join("."));
    expect(
      of({ HF_TOKEN: "hunter2", max_tokens: "hunter2", a: { clientSecret: "x y", b: [] } }),
    ).toEqual(["HF_TOKEN", "a.clientSecret"]);
    expect(of({ password: 12345, token: 12345, api_key: 123456789 })).toEqual([
      "password",
      "api_key",
    ]);
    expect(of(["--hf-token", "hunter2", "--port", "1"])).toEqual(["1"]);
    expect(of(["--hf-token", "--port", "1"])).toEqual([]);
    expect(of(['{"api\\u005fkey": "hunter2"}'])).toEqual(["0"]);
  });

  it.each(BAD)("is taken out of JSON, whose lines end in an escape: %s", (text, secret) => {
    const inside = JSON.stringify({ detail: `a\n${text}\r\nb` });
    for (const each of [inside, JSON.stringify(inside)]) {
      const shown = redactSecrets(each);
      expect(shown).not.toContain(secret);
      expect(shown).toContain("<redacted>");
      expect(shown).toMatch(/b\\*"\}"?$|<redacted>/);
      expect(shown).not.toMatch(/[\n\v\f]/);
    }
  });

  it("leaves escapes where nothing is secret", () => {
    const text = String.raw`{"a":"one\ntwo\tthree","path":"C:\\new\\temp"}`;
    expect(redactSecrets(text)).toBe(text);
  });

  it("is found wherever it is in a text", () => {
    const around = fc.stringMatching(/^[ a-z.,:;(){}"'=&?\n-]{0,40}$/);
    fc.assert(
      fc.property(around, fc.constantFrom(...KEYS), around, (before, key, after) => {
        const text = `${before} ${key} ${after}`;
        expect(withoutKeys(text)).not.toContain(key);
        expect(redactSecrets(text)).not.toContain(key);
      }),
    );
    fc.assert(
      fc.property(
        around,
        fc.stringMatching(/^[A-Z]{3,8}_(?:TOKEN|API_KEY|SECRET|PASSWORD)$/),
        (before, name) => {
          expect(redactSecrets(`${before}\n${name}=${BODY}`)).not.toContain(BODY);
        },
      ),
    );
  });

  it("costs no more time in a long text than its length", () => {
    // Each began anew in the rest of the text wherever it stood, or was read again from each of its
    // letters.
    const pieces = [
      "a",
      "a:",
      "key=",
      "http://a",
      "-",
      '"',
      "eyJa.",
      "A1+/",
      "{%",
      "x.y-",
      "key",
      "passtoken",
      "-eyJaaaaaaaa",
    ];
    const openings = [
      "key=${",
      "key='${a${",
      "a://:",
      "{{",
      ".--key",
      "_auth=YTph",
      "-----BEGIN PRIVATE KEY-----",
      "${A:-",
    ];
    for (const piece of [...pieces, ...openings])
      expect(holdsSecret(piece.repeat(60_000)), piece).toBeDefined();
    const others = [
      "machine a login b password ",
      "login a ",
      "\npassword a",
      "curl -u a:",
      ":5432:a:b:",
      "$1$",
      "$6$a$",
      "$argon2id$a$",
      "tokens=[a1",
      "a1b2c3,",
      "%26sig%3d",
      "&token=",
      "<token>a",
      "http://a:b@",
      "docker login ",
      "authorization: a ",
      `${"A".repeat(64)}\n`,
      "MMMMMMMMMMMMMMMMMMMMMMMM.",
      "AKIAABCDEFGHIJKLMNOP,",
    ];
    const ends = " @ password private-lines </";
    for (const piece of others) expect(holdsSecret(piece.repeat(4000) + ends), piece).toBeDefined();
    expect(holdsSecret(`token="${"${A:-".repeat(60_000)}${"}".repeat(60_000)}"`)).toBe(true);
    expect(holdsSecret(`auth=${Buffer.from(`${"a:".repeat(60_000)}\0`).toString("base64")}`)).toBe(
      false,
    );
  });

  it("is looked for in a text that is JSON, however deep that nests", () => {
    expect(secretPaths({ a: "[".repeat(100_000) + "]".repeat(100_000) })).toEqual([]);
    expect(
      secretPaths({ a: `${"[".repeat(1000)}{"api\\u005fkey": "hunter2"}${"]".repeat(1000)}` }),
    ).toEqual([["a"]]);
  });
});

describe("a form of secrets", () => {
  const texts = [...BAD.map(([text]) => text), ...GOOD];
  const forms = [...BY_VALUE, ...BY_NAME].map((form) => [form.pattern.source, form] as const);

  it.each(forms)("finds nothing in a text without its words: %s", (_, form) => {
    const anywhere = { ...form, words: [""] };
    for (const text of [...texts, ...texts.map((each) => each.toUpperCase())])
      expect(replaced(text, [form])).toBe(replaced(text, [anywhere]));
  });

  it.each(forms)("needs each of its words: %s", (_, form) => {
    const unneeded = form.words.filter((word) => {
      const others = { ...form, words: form.words.filter((each) => each !== word) };
      return texts.every((text) => replaced(text, [others]) === replaced(text, [form]));
    });
    expect(unneeded).toEqual([]);
  });
});

describe("what is no secret", () => {
  it.each(GOOD)("passes: %s", (text) => {
    expect(secretPaths({ a: [text] })).toEqual([]);
    expect(redactSecrets(text)).toBe(text);
    expect(withoutKeys(text)).toBe(text);
  });

  it("is every flag and variable of vLLM but the two that hold a key", () => {
    const { lists, switches, values, variables } = newestEngineData();
    const names = [...lists, ...values, ...Object.keys(switches), ...variables];
    expect(names.filter(isSecretName)).toEqual([
      "api-key",
      "hf-token",
      "allow-credentials",
      "VLLM_API_KEY",
    ]);
  });

  it("is any word of our own pages, files and examples", () => {
    const pages = readdirSync("docs", { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".md"))
      .map((file) => `docs/${file}`);
    for (const file of [...pages, "README.md", "docs/changelog.md", "Pulumi.dgx.yaml"]) {
      const text = readFileSync(file, "utf8");
      expect(withoutKeys(text), file).toBe(text);
    }
  });
});
