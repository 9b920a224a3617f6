import { describe, expect, it } from "vitest";
import { plan } from "../../../components/plan/plan";
import { declaredResources } from "../../../components/program/machine/declaredResources";
import { stackSettings } from "../../../components/settings/stackSettings";
import { judge } from "../../../policies/judge";
import { DIGEST, stack, stackInput } from "../../fixtures/machine";
import { container, record } from "../declared";
import { ATTEMPTS, type By, GOOD_SERVERS, INNOCENT, MACHINES, OUT_OF_SCOPE } from "./evasions";
import {
  DENIED_RECORDS,
  GOOD_IMAGES,
  NO_REFERENCES,
  OWN_TAGS,
  READ,
  SERVER_IMAGES,
  SERVICE_IMAGES,
  UNSEEN,
} from "./imageEvasions";
import { NEIGHBOURS } from "./neighbours";

const RULES: Readonly<Record<By, string>> = {
  sum: "aggregate-utilization",
  name: "served-model-name",
  image: "inference-image",
};

type Resources = Parameters<typeof judge>[0];

/** The fixed rules that refuse, by their short names. */
function refusing(resources: Resources): By[] {
  const refused = judge([...resources, record()]).filter(({ verdict }) => verdict === "refused");
  return (Object.keys(RULES) as By[]).filter((by) =>
    refused.some(({ name }) => name === RULES[by]),
  );
}

const declaring = (props: object | readonly object[]) =>
  [props].flat().map((each, index) => container(index === 0 ? "x" : `x${index}`, { ...each }));

describe.each(Object.entries(ATTEMPTS))("refuses %s", (_, attempts) => {
  it.each(attempts.map(([what, ...rest]) => [what, rest] as const))(
    "%s",
    (_what, [declares, ...by]) => {
      expect(refusing(declaring(declares))).toEqual(by);
    },
  );
});

it.each(MACHINES)("refuses the sum of: %s", (_, resources) => {
  expect(refusing(resources)).toContain("sum");
});

it.each(INNOCENT)("leaves alone: %s", (_, declares) => {
  const fixed = Object.values(RULES);
  const said = judge([...declaring(declares), record()]).filter(({ name }) => fixed.includes(name));
  expect(said.map(({ verdict }) => verdict)).toEqual(["pass", "pass", "pass"]);
});

it.each(NEIGHBOURS)("lets a neighbour pass all rules: %s", (_, declares, source) => {
  const said = judge([...declaring(declares), record()]);
  expect(said.filter(({ verdict }) => verdict === "refused")).toEqual([]);
  expect(source).toMatch(/\w/);
});

it.each(GOOD_SERVERS)("refuses nothing of: %s", (_, declares) => {
  expect(refusing(declaring(declares))).toEqual([]);
});

it.each(OUT_OF_SCOPE)("lets through, for a reason: %s", (_, declares, why) => {
  expect(refusing(declaring(declares))).toEqual([]);
  expect(why).toMatch(/\w+ \w+/);
});

describe("images of the stack file", () => {
  /** What a stack with this server and these services is refused by, as `rule: message`. */
  const refusedBy = (server: Record<string, unknown>, machine: Record<string, unknown> = {}) =>
    judge(declaredResources(plan(stack(machine, server), { home: "/home/me" })))
      .filter(({ verdict }) => verdict === "refused")
      .map(({ name, message }) => `${name}: ${message}`);

  it.each(SERVER_IMAGES)("refuses %s", (_, image, versions, says) => {
    const refused = refusedBy({ image, versions }).filter((each) =>
      each.startsWith("inference-image: "),
    );
    expect(refused).toHaveLength(1);
    for (const reason of says.split("; "))
      expect(refused[0]?.toLowerCase()).toContain(reason.toLowerCase());
  });

  it.each(DENIED_RECORDS)("refuses vllm %s with transformers %s", (vllm, transformers) => {
    const versions = { vllm, transformers, evidence: "read", source: "test", digest: DIGEST };
    const refused = refusedBy({ image: `vllm/vllm-openai@${DIGEST}`, versions });
    expect(refused).toEqual([expect.stringMatching(/^deny-list: .*it breaks vLLM 0\.27/)]);
  });

  it.each(SERVICE_IMAGES)("refuses %s as the %s: %s", (_, block, image, rule) => {
    const refused = refusedBy({}, { [block]: { image } });
    expect(refused.map((each) => each.split(":")[0])).toContain(rule);
    expect(refused.join()).toContain(image);
  });

  it.each(NO_REFERENCES)("is a fault of the stack file: %s", (_, image) => {
    const services = { bridge: { image }, chatUi: { image } };
    const { issues } = stackSettings.safeParse(stackInput(services, { image })).error ?? {
      issues: [],
    };
    expect(issues.map(({ path }) => path.join("."))).toEqual([
      "machines.dgx.inferenceServers.b.image",
      "machines.dgx.bridge.image",
      "machines.dgx.chatUi.image",
    ]);
    for (const { message } of issues)
      expect(message).toMatch(/^Expected an image as `repository\[:tag\]@sha256:...`: (it|a part)/);
  });

  it.each(GOOD_IMAGES)("lets through %s", (_, image, versions) => {
    expect(refusedBy({ image, versions })).toEqual([]);
  });

  it.each(OWN_TAGS)("reads %s by its record, with a note: %s", (image, noted) => {
    const server = { image: `${image}@${DIGEST}`, versions: READ };
    const said = judge(declaredResources(plan(stack({}, server), { home: "/home/me" }))).filter(
      ({ name, verdict }) => name === "inference-image" && verdict !== "pass",
    );
    const tag = image.replace(/.*:/, "");
    const message = `The tag of b's image doesn't name vLLM's version. What is recorded of its digest counts: vllm 0.30.0, and not \`${tag}\`.`;
    expect(said.map((each) => [each.verdict, each.note, each.message])).toEqual(
      noted ? [["warned", true, expect.stringContaining(message)]] : [],
    );
  });

  it.each(UNSEEN)("can't see %s", (_, why) => expect(why).toMatch(/\w+ \w+/));
});

it("holds as many as were asked for", () => {
  const ofImages = [SERVER_IMAGES, DENIED_RECORDS, SERVICE_IMAGES, NO_REFERENCES, UNSEEN].flat(
    1,
  ).length;
  expect(ofImages).toBeGreaterThanOrEqual(110);
  const attempts =
    Object.values(ATTEMPTS).flat().length + MACHINES.length + OUT_OF_SCOPE.length + ofImages;
  expect(attempts).toBeGreaterThanOrEqual(500);
  expect(INNOCENT.length).toBeGreaterThanOrEqual(40);
  expect(NEIGHBOURS.length).toBeGreaterThanOrEqual(60);
});
