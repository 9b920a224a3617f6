import { join } from "node:path";
import { UnreadableInput } from "@local-serving/base/faults/fault";
import { describe, expect, it } from "vitest";
import { checkProfile, resolvedProfile } from "../../providers/check";
import { parseProfile, readProfile } from "../../providers/profile";

const fixture = (name: string) => checkProfile(readProfile(join(__dirname, "fixtures", name)));
const check = (text: string) => checkProfile(parseProfile("p.toml", text)).faults;
const found = (text: string) =>
  check(text).map(({ path, code, severity }) => [path, code, severity]);

const CLI = '[providers.p]\ntype = "cli"\ncommand = "x {review_request}"\n';
const API = '[providers.p]\ntype = "openai-compatible"\nmodel = "m"\n';

describe("check of a providers profile", () => {
  it("finds nothing in a good one, and fills in the defaults", () => {
    const verdict = fixture("good.toml");
    expect(verdict.faults).toEqual([]);
    expect(resolvedProfile(verdict)).toMatchObject({
      providers: {
        codex: { type: "cli", timeout_sec: 300, metered: false, runtime_conformance: true },
        local: {
          timeout_sec: 300,
          max_tokens: 8192,
          temperature: 0.2,
          disable_thinking: true,
          metered: true,
          runtime_conformance: false,
        },
        ollama: { timeout_sec: 600, max_tokens: 4096, temperature: 0.1, host: "localhost:11434" },
      },
      defaults: { peer_for: { codex: "local" }, fallback_chain: { codex: ["local", "ollama"] } },
      copyright: { company: "Example Ltd" },
    });
  });

  it("finds every fault in one run, each at its line, and shows no secret", () => {
    const { faults } = fixture("wrong.toml");
    expect(faults.map(({ line, path, code, severity }) => [line, path, code, severity])).toEqual([
      [2, "defaults.peer_for.codex", "undeclared_provider", "error"],
      [3, "defaults.fallback_chain.codex", "undeclared_provider", "warning"],
      [6, "providers.local.type", "unknown_value", "error"],
      [7, "providers.local.base_url", "wrong_form", "error"],
      [8, "providers.local.api_key_env", "wrong_form", "error"],
      [9, "providers.local.api_key", "secret_in_file", "error"],
      [10, "providers.local.timeout_sec", "wrong_type", "error"],
      [11, "providers.local.max_tokens", "out_of_range", "error"],
      [12, "providers.local.temperature", "out_of_range", "error"],
      [13, "providers.local.price_usd_per_mtok_input", "one_price", "warning"],
      [14, "providers.local.conformance_command", "wrong_form", "error"],
      [15, "providers.local.healthcheck", "escaped_bearer", "error"],
      [16, "providers.local.colour", "unknown_key", "warning"],
    ]);
    expect(JSON.stringify(faults)).not.toContain("SECRET");
    expect(faults[0]?.message).toContain("Did you mean `local`?");
  });

  it("finds what is misread beside what is wrong", () => {
    const { faults } = fixture("misread.toml");
    expect(faults.filter(({ code }) => code.startsWith("dialect_"))).toHaveLength(15);
  });

  it.each([
    [
      "`type` is required",
      '[providers.p]\ncommand = "x {review_request}"',
      ["providers.p.type", "missing_key", "error"],
    ],
    [
      "a type is one of four",
      '[providers.p]\ntype = "CLI"',
      ["providers.p.type", "unknown_value", "error"],
    ],
    [
      "an unknown key is a warning",
      `${CLI}colour = "x"`,
      ["providers.p.colour", "unknown_key", "warning"],
    ],
    ["an unknown table is a warning", `${CLI}[other]\nx = 1`, ["other", "unknown_key", "warning"]],
    [
      "`api_key` is refused",
      `${CLI}api_key = "x"`,
      ["providers.p.api_key", "secret_in_file", "error"],
    ],
    ["so is `token`", `${CLI}token = "x"`, ["providers.p.token", "secret_in_file", "error"]],
    [
      "timeout_sec is whole",
      `${CLI}timeout_sec = 1.5`,
      ["providers.p.timeout_sec", "wrong_type", "error"],
    ],
    [
      "timeout_sec is no text",
      `${CLI}timeout_sec = "300"`,
      ["providers.p.timeout_sec", "wrong_type", "error"],
    ],
    [
      "timeout_sec is at least 1",
      `${CLI}timeout_sec = 0`,
      ["providers.p.timeout_sec", "out_of_range", "error"],
    ],
    [
      "max_tokens is whole",
      `${CLI}max_tokens = 1.5`,
      ["providers.p.max_tokens", "wrong_type", "error"],
    ],
    [
      "disable_thinking is no text",
      `${CLI}disable_thinking = "true"`,
      ["providers.p.disable_thinking", "wrong_type", "error"],
    ],
    [
      "a conformance command holds {review_request}",
      `${CLI}conformance_command = "x"`,
      ["providers.p.conformance_command", "wrong_form", "error"],
    ],
    [
      "base_url ends in /v1, no less",
      `${API}base_url = "http://h:1"`,
      ["providers.p.base_url", "wrong_form", "error"],
    ],
    [
      "no more",
      `${API}base_url = "http://h:1/v1/"`,
      ["providers.p.base_url", "wrong_form", "error"],
    ],
    [
      "not the whole path of a request",
      `${API}base_url = "http://h/v1/chat/completions"`,
      ["providers.p.base_url", "wrong_form", "error"],
    ],
    [
      "not twice",
      `${API}base_url = "http://h/v1/v1"`,
      ["providers.p.base_url", "wrong_form", "error"],
    ],
    [
      "base_url is an http URL",
      `${API}base_url = "h:1/v1"`,
      ["providers.p.base_url", "wrong_form", "error"],
    ],
    [
      "nor a query, and that is one fault",
      `${API}base_url = "http://h/v1?x=1"`,
      ["providers.p.base_url", "wrong_form", "error"],
    ],
    [
      "its port is one",
      `${API}base_url = "http://h:99999/v1"`,
      ["providers.p.base_url", "wrong_form", "error"],
    ],
    [
      "base_url holds no token in a user's place",
      `${API}base_url = "http://abc123@h/v1"`,
      ["providers.p.base_url", "secret_in_file", "error"],
    ],
    [
      "base_url holds no password",
      `${API}base_url = "http://u:pw@h/v1"`,
      ["providers.p.base_url", "secret_in_file", "error"],
    ],
    [
      "api_key_env is a variable's name",
      `${CLI}api_key_env = "sk-123"`,
      ["providers.p.api_key_env", "wrong_form", "error"],
    ],
    [
      "a key is recognised by its form",
      `${CLI}api_key_env = "hf_abcdefghij"`,
      ["providers.p.api_key_env", "secret_in_file", "error"],
    ],
    [
      "host is host:port",
      '[providers.p]\ntype = "ollama"\nmodel = "m"\nhost = "http://h:1"',
      ["providers.p.host", "wrong_form", "error"],
    ],
    [
      "host has a port that can be",
      '[providers.p]\ntype = "ollama"\nmodel = "m"\nhost = "h:70000"',
      ["providers.p.host", "wrong_form", "error"],
    ],
    [
      "an input price alone",
      `${CLI}price_usd_per_mtok_input = 1`,
      ["providers.p.price_usd_per_mtok_input", "one_price", "warning"],
    ],
    [
      "an output price alone",
      `${CLI}price_usd_per_mtok_output = 1`,
      ["providers.p.price_usd_per_mtok_output", "one_price", "warning"],
    ],
    [
      "a price below zero",
      `${CLI}price_usd_per_mtok_input = -1\nprice_usd_per_mtok_output = 1`,
      ["providers.p.price_usd_per_mtok_input", "out_of_range", "error"],
    ],
    [
      "a bearer token itself",
      `${CLI}healthcheck = "curl --oauth2-bearer abc123 http://h/v1/models"`,
      ["providers.p.healthcheck", "secret_in_file", "error"],
    ],
    [
      "a key in a header",
      `${CLI}healthcheck = "curl -H x-api-key:abc123 http://h"`,
      ["providers.p.healthcheck", "secret_in_file", "error"],
    ],
    [
      "a variable in single quotes",
      `${CLI}healthcheck = "curl -H 'Authorization: Bearer $K' http://h"`,
      ["providers.p.healthcheck", "quoted_bearer", "warning"],
    ],
    [
      "a command without {review_request}",
      '[providers.p]\ntype = "cli"\ncommand = "x"',
      ["providers.p.command", "no_request", "warning"],
    ],
    [
      "an empty command, once",
      '[providers.p]\ntype = "cli"\ncommand = ""',
      ["providers.p", "missing_for_type", "warning"],
    ],
    [
      "{model} without a model",
      `${CLI.replace("x {", "x {model} {")}`,
      ["providers.p.command", "no_model", "warning"],
    ],
    [
      "a cli provider without a command",
      '[providers.p]\ntype = "cli"',
      ["providers.p", "missing_for_type", "warning"],
    ],
    [
      "an openai-compatible one without base_url",
      API,
      ["providers.p", "missing_for_type", "warning"],
    ],
    [
      "an ollama one without a model",
      '[providers.p]\ntype = "ollama"',
      ["providers.p", "missing_for_type", "warning"],
    ],
    [
      "peer_for names a declared provider",
      `${CLI}[defaults]\npeer_for.a = "q"`,
      ["defaults.peer_for.a", "undeclared_provider", "error"],
    ],
    [
      "peer_for is text",
      `${CLI}[defaults]\npeer_for.a = 1`,
      ["defaults.peer_for.a", "wrong_type", "error"],
    ],
    [
      "a subject does not review itself",
      `${CLI}[defaults]\npeer_for.p = "p"`,
      ["defaults.peer_for.p", "self_review", "warning"],
    ],
    [
      "fallback_chain names declared providers",
      `${CLI}[defaults]\nfallback_chain.a = ["p", "q"]`,
      ["defaults.fallback_chain.a", "undeclared_provider", "warning"],
    ],
    [
      "nobody is tried twice",
      `${CLI}[defaults]\nfallback_chain.a = ["p", "p"]`,
      ["defaults.fallback_chain.a", "repeated_provider", "warning"],
    ],
    ["a profile without providers", "", ["", "no_providers", "warning"]],
  ])("%s", (_, text, expected) => {
    expect(found(text)).toEqual([expected]);
  });

  it.each([
    ["the subject of a pairing need not be declared", `${CLI}[defaults]\npeer_for.anyone = "p"`],
    ["disable_thinking may be bare false", `${CLI}disable_thinking = false`],
    ["both prices", `${CLI}price_usd_per_mtok_input = 0\nprice_usd_per_mtok_output = 0`],
    [
      "a bearer token by its variable",
      `${CLI}healthcheck = "curl -sf --oauth2-bearer $KEY http://h/v1/models"`,
    ],
    ["a longer path before /v1", `${API}base_url = "https://h/api/v1"`],
    [
      "a provider that only evaluates",
      '[providers.p]\ntype = "cli"\nconformance_command = "x {review_request}"',
    ],
    ["a variable's name in small letters", `${CLI}api_key_env = "local_key"`],
  ])("takes %s", (_, text) => {
    expect(found(text)).toEqual([]);
  });

  it.each([
    ["defaults", "defaults = 1979-05-27\n"],
    ["providers", "providers = 07:32:00\n"],
    ["providers.p", "[providers]\np = 1979-05-27T07:32:00Z\n"],
    ["defaults.peer_for", `${CLI}[defaults]\npeer_for = 1979-05-27\n`],
  ])("refuses a date in place of the table %s", (path, text) => {
    expect(check(text)).toContainEqual(
      expect.objectContaining({
        path,
        code: "wrong_type",
        message: expect.stringMatching(/^Expected a map, got a date\./),
      }),
    );
  });

  it("says which name is not declared, unless it may be a key pasted there", () => {
    const message = (name: string) =>
      check(`${CLI}[defaults]\npeer_for.a = "${name}"`).find(({ severity }) => severity === "error")
        ?.message;
    expect(message("ollama")).toBe(
      "This names a provider that is not declared (`ollama`). Declared: p.",
    );
    expect(message("sk-abc123")).toBe("This names a provider that is not declared. Declared: p.");
  });

  it("never repeats what is given instead of a variable's name", () => {
    for (const key of ["sk-proj-abcSECRET", "hf_SECRETabc123", "SECRET with spaces"])
      expect(JSON.stringify(check(`${CLI}api_key_env = "${key}"`))).not.toContain("SECRET");
    expect(JSON.stringify(check(`${CLI}api_key_env = 123456789`))).not.toContain("123456789");
  });

  it.each([
    ["text that is not TOML", "[providers.p\nx", "p.toml:1:"],
    ["a key given twice", '[providers.p]\ntype = "cli"\ntype = "cli"', "p.toml:3:1"],
    ["an escape that TOML lacks", '[providers.p]\ncommand = "\\d"', "p.toml:2:"],
    ["a key or header without end", `[${"a.".repeat(2000)}a]`, "longer than 1000 characters"],
    ["lists in lists without end", `a = ${"[".repeat(10_000)}`, "nested"],
  ])("can't read %s, and says where", (_, text, expected) => {
    expect(() => parseProfile("p.toml", text)).toThrow(UnreadableInput);
    expect(() => parseProfile("p.toml", text)).toThrow(expected);
  });

  it("quotes nothing of a file that it can't read", () => {
    expect(() => parseProfile("p.toml", 'api_key = "hunter2SECRET')).toThrow(/^(?!.*SECRET)/s);
  });
});
