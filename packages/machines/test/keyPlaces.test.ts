import { describe, expect, it } from "vitest";
import { keysAt, whereKeysAre } from "../keyPlaces";

const said = (path: string, home?: string) => {
  const found = keysAt(path, home);
  return found && `${found.is} ${found.place}: ${whereKeysAre(found)}`;
};

describe("a place of keys", () => {
  it.each([
    ["~/.codex", "in ~/.codex: where programs keep keys (Codex's)"],
    ["/home/me/.codex/", "in ~/.codex: where programs keep keys (Codex's)"],
    ["/home/me/.codex/auth.json", "in ~/.codex: where programs keep keys (Codex's)"],
    ["/data/../home/me//.codex", "in ~/.codex: where programs keep keys (Codex's)"],
    ["/home/me/./x/../.claude", "in ~/.claude: where programs keep keys (Claude Code's)"],
    ["/var/home/me/.ssh", "in ~/.ssh: where programs keep keys"],
    ["/root/.kube/config", "in ~/.kube: where programs keep keys"],
    ["~/.config/gh/hosts.yml", "in ~/.config/gh: where programs keep keys (the GitHub CLI's)"],
    ["~/.config/other", "in ~/.config: where programs keep keys"],
    ["~/.netrc", "in ~/.netrc: where programs keep keys (curl's and git's)"],
    [
      "~/.local/share/keyrings",
      "in ~/.local/share/keyrings: where programs keep keys (the desktop's)",
    ],
    [
      "/home/me/.cache/huggingface/token",
      "in ~/.cache/huggingface/token: where programs keep keys (Hugging Face's)",
    ],
    ["~/.cargo", "below ~/.cargo/credentials: where programs keep keys (cargo's)"],
    ["/home/me/.local/", "below ~/.local/share/opencode: where programs keep keys (opencode's)"],
    ["~", "home ~: where programs keep keys"],
    ["/home/other/", "home ~: where programs keep keys"],
  ])("is %s", (path, expected) => expect(said(path)).toBe(expected));

  it("is below a home that a machine has elsewhere", () => {
    expect(said("/srv/me/.pgpass", "/srv/me")).toBe(
      "in ~/.pgpass: where programs keep keys (PostgreSQL's)",
    );
    expect(said("/srv/me", "/srv/me")).toBe("home ~: where programs keep keys");
    expect(said("/srv/me/.pgpass")).toBeUndefined();
  });

  it.each([
    "~/models",
    "~/.codexes",
    "~/code/.codex",
    "/data/models",
    "/data/home/me/.ssh",
    "/home",
    // The model cache, which every server gets.
    "/home/me/.cache/huggingface",
    "~/.cache",
    "~/.ollama/models",
    "some-volume",
    "",
  ])("is not %s", (path) => expect(said(path)).toBeUndefined());
});
