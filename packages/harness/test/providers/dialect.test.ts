import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkProfile } from "../../providers/check";
import { dialectFaults } from "../../providers/dialect";
import { parseProfile, readProfile } from "../../providers/profile";

const fixture = (name: string) => readProfile(join(__dirname, "fixtures", name));
const found = (text: string) =>
  dialectFaults(parseProfile("p.toml", text)).map(({ path, code, severity, line }) => [
    path,
    code,
    severity,
    line,
  ]);

const P = "[providers.p]\n";

describe("where the harness's reading parts from TOML's", () => {
  it("is silent on a profile that reads the same both ways", () => {
    expect(dialectFaults(fixture("good.toml"))).toEqual([]);
  });

  it("names every difference at its line", () => {
    const faults = dialectFaults(fixture("misread.toml"));
    expect(faults.map(({ line, path, code, severity }) => [line, path, code, severity])).toEqual([
      [3, "defaults.peer_for.quoted", "dialect_quoted_key", "error"],
      [4, "defaults.fallback_chain.codex", "dialect_single_quotes", "error"],
      [7, "providers.plain.type", "dialect_trailing_comment", "error"],
      [8, "providers.plain.command", "dialect_escape", "warning"],
      [9, "providers.plain.conformance_command", "dialect_escape", "error"],
      [10, "providers.plain.timeout_sec", "dialect_number", "error"],
      [11, "providers.plain.model", "dialect_indented_key", "error"],
      [12, "providers.plain.version", "dialect_single_quotes", "warning"],
      [13, "providers.plain.healthcheck", "dialect_multi_line", "error"],
      [16, "providers.plain.disable_thinking", "dialect_trailing_comment", "error"],
      [17, "providers.plain.max_tokens", "dialect_quoted_key", "error"],
      [19, "providers.lost", "dialect_header_comment", "error"],
      [24, "providers.inline.type", "dialect_inline_table", "error"],
      [24, "providers.inline.command", "dialect_inline_table", "error"],
      [25, "providers.dotted.type", "dialect_dotted_key", "error"],
    ]);
  });

  it.each([
    ["a hash inside quotes is fine", `${P}command = "x # y {review_request}"`, []],
    ["a whole comment line is fine", `${P}# c\ntype = "cli"`, []],
    ["spaces around the sign are fine", `${P}type   =   "cli"`, []],
    ["an unknown key is not judged", `${P}colour = "blue" # c`, []],
    [
      "a trailing comment on a note is a warning",
      `${P}version = "1" # c`,
      [["providers.p.version", "dialect_trailing_comment", "warning", 2]],
    ],
    [
      "on a command it is an error, since the quote stays, too",
      `${P}command = "x {review_request}" # c`,
      [["providers.p.command", "dialect_trailing_comment", "error", 2]],
    ],
    [
      "on a number it is an error",
      `${P}timeout_sec = 300 # c`,
      [["providers.p.timeout_sec", "dialect_trailing_comment", "error", 2]],
    ],
    [
      "on a list it spoils the last item",
      '[defaults]\nfallback_chain.a = ["b"] # c',
      [["defaults.fallback_chain.a", "dialect_trailing_comment", "error", 2]],
    ],
    [
      "spaces behind a value",
      `${P}model = "m"  `,
      [["providers.p.model", "dialect_trailing_space", "error", 2]],
    ],
    [
      "a tab behind the key",
      `${P}model\t= "m"`,
      [["providers.p.model", "dialect_key", "error", 2]],
    ],
    ["a tab behind =", `${P}model =\t"m"`, [["providers.p.model", "dialect_tab", "error", 2]]],
    [
      "a tab before a flag",
      `${P}disable_thinking =\ttrue`,
      [["providers.p.disable_thinking", "dialect_tab", "error", 2]],
    ],
    [
      "a plus sign",
      `${P}timeout_sec = +300`,
      [["providers.p.timeout_sec", "dialect_number", "error", 2]],
    ],
    [
      "another base",
      `${P}timeout_sec = 0x10`,
      [["providers.p.timeout_sec", "dialect_number", "error", 2]],
    ],
    [
      "a whole number with a fraction of zero",
      `${P}timeout_sec = 300.0`,
      [["providers.p.timeout_sec", "dialect_number", "error", 2]],
    ],
    ["an exponent is a number to both", `${P}temperature = 1e-1`, []],
    [
      "a list over several lines",
      '[defaults]\nfallback_chain.a = [\n"b"]',
      [["defaults.fallback_chain.a", "dialect_multi_line", "error", 2]],
    ],
    [
      "a comma inside a list's item",
      '[defaults]\nfallback_chain.a = ["b,c"]',
      [["defaults.fallback_chain.a", "dialect_list", "error", 2]],
    ],
    [
      "a table of pairings",
      '[defaults.peer_for]\ncodex = "a"',
      [["defaults.peer_for.codex", "dialect_dotted_key", "error", 2]],
    ],
    [
      "pairings in an inline table",
      '[defaults]\npeer_for = { codex = "a" }',
      [["defaults.peer_for.codex", "dialect_inline_table", "error", 2]],
    ],
    [
      "an indented header",
      '  [providers.p]\ntype = "cli"',
      [["providers.p", "dialect_indented_header", "error", 1]],
    ],
    [
      "a quoted header",
      '[providers."p"]\ntype = "cli"',
      [["providers.p", "dialect_header", "error", 1]],
    ],
    [
      "a line inside a string of several lines that looks like a key",
      `${P}version = """\ntype = "cli"\n"""`,
      [
        ["providers.p.version", "dialect_multi_line", "warning", 2],
        ["providers.p.type", "dialect_phantom", "error", 3],
      ],
    ],
    [
      "such a line that hides the real key",
      `${P}version = """\ntype = "x"\n"""\ntype = "cli"`,
      [
        ["providers.p.version", "dialect_multi_line", "warning", 2],
        ["providers.p.type", "dialect_shadowed", "error", 5],
      ],
    ],
    [
      "carriage returns, once",
      '[providers.p]\r\ntype = "cli"\r\n',
      [["", "dialect_line_end", "error", 1]],
    ],
    [
      "a byte order mark",
      '\ufeff[providers.p]\ntype = "cli"',
      [["", "dialect_byte_order_mark", "error", 1]],
    ],
  ])("%s", (_, text, expected) => {
    expect(found(text)).toEqual(expected);
  });

  it("says what the harness does, what follows and what to write", () => {
    const [fault] = dialectFaults(
      parseProfile("p.toml", `${P}conformance_command = "x \\u007Breview_request}"`),
    );
    expect(fault?.message).toBe(
      "The harness keeps TOML's escapes literally, backslash and all. Read that way, it lacks {review_request}. " +
        "Write the value without backslashes.",
    );
  });

  it("takes a peer by the name that the harness reads: with an escape it is undeclared", () => {
    const escaped = String.raw`peer_for.claude = "cod\u0065x"`;
    const peer = (text: string) => checkProfile(parseProfile("p.toml", text)).faults;
    expect(
      peer(
        `[providers.codex]\ntype = "cli"\ncommand = "x {review_request}"\n[defaults]\n${escaped}`,
      ),
    ).toEqual([
      {
        path: "defaults.peer_for.claude",
        code: "dialect_escape",
        severity: "error",
        line: 5,
        column: 19,
        message:
          "The harness keeps TOML's escapes literally, backslash and all. Read that way, it names a provider that is not declared. Write the value without backslashes.",
      },
    ]);
  });
});
