import { expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { declaredResources } from "../../components/program/machine/declaredResources";
import type { StackSettings } from "../../components/settings/stackSettings";
import { judge } from "../../policies/judge";
import { rules } from "../../policies/rules";
import { stack } from "../fixtures/machine";
import { ranks } from "../fixtures/ranks";
import { HOME } from "../fixtures/services";

const refusedBy = (settings: StackSettings): string[] =>
  judge(declaredResources(plan(settings, { home: HOME })))
    .filter(({ verdict }) => verdict === "refused")
    .map(({ name }) => name);

const withVariable = (environment: Record<string, string>) => stack({}, { environment });
const CONFIGURATION = "model_list:\n- model_name: a\n  litellm_params: { model: openai/x }";
const INSIDE = { mode: "integrated", models: ["a:1"] };

it.each([
  ["ranks-agree", () => ranks({ extraArgs: ["--node-rank", "3"] })],
  ["simple-server-place", () => stack({ simpleServer: INSIDE })],
  ["client-base-url", () => withVariable({ ANTHROPIC_BASE_URL: "http://x/v1" })],
  ["client-tiers", () => withVariable({ ANTHROPIC_BASE_URL: "http://x" })],
  ["bridge-prefix", () => withVariable({ CONFIG: CONFIGURATION })],
])("a stack file can break %s, so it counts in every plan", (name, settings) => {
  expect(refusedBy(settings())).toContain(name);
  expect(rules.find((rule) => rule.name === name)).not.toHaveProperty("byHand");
});

it.each([
  ["arguments for another device", () => stack({}, { extraArgs: ["--device", "cpu"] })],
  ["a start on request", () => stack({}, { start: "onRequest" })],
  ["ranks", () => ranks()],
])("no stack file breaks a rule for containers by hand: %s", (_, settings) => {
  const byHand = rules.flatMap((rule) => (rule.byHand ? [rule.name] : []));
  expect(byHand).toEqual(["inference-container"]);
  expect(refusedBy(settings()).filter((name) => byHand.includes(name))).toEqual([]);
});
