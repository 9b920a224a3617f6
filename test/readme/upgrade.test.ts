import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const PAGE = readFileSync("docs/upgrade.md", "utf8");

it.each(readdirSync("test/fixtures/upgrade"))("docs/upgrade.md says how to leave %s", (release) => {
  const section = PAGE.split(/^## /m).find((each) => each.startsWith(`From ${release} `)) ?? "";
  for (const part of ["Restarted", "Migrated", "For you to change", "To go back"])
    expect(section).toContain(`**${part}`);
});

it("docs/upgrade.md names what an upgrade from 0.1.0 replaces and writes again", () => {
  const test = readFileSync("test/cli/upgrade.test.ts", "utf8");
  const changed = ["entrypoint", "PYTORCH_CUDA_ALLOC_CONF", "LOCAL_SERVING_RANKS"];
  const files = ["start-gate", "claude-code-settings", "grafana-dashboard"];
  for (const name of [...changed, ...files]) {
    expect(test).toContain(name);
    expect(PAGE).toContain(`\`${name}\``);
  }
});
