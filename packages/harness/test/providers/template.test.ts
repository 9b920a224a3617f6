import { describe, expect, it } from "vitest";
import { checkProfile } from "../../providers/check";
import { parseProfile } from "../../providers/profile";
import { PROVIDER_TYPES, providerSchema } from "../../providers/schema";
import { jsonSchemaOf } from "../../schema/jsonSchema";
import { template } from "../../templates/template";

const check = (text: string) => checkProfile(parseProfile("p.toml", text)).faults;

describe("the template of a profile", () => {
  const text = template("providers");

  it("passes its own check without a warning", () => {
    expect(check(text)).toEqual([]);
  });

  it("still does with every example taken out of its comment", () => {
    const examples = text.replace(/^# (?=\[|[a-z_]+ = )/gm, "");
    const document = parseProfile("p.toml", examples);
    expect(checkProfile(document).faults).toEqual([]);
    const shown = Object.keys((document.value as { providers: object }).providers);
    expect(shown).toEqual(["local", ...PROVIDER_TYPES.map((type) => `my-${type}`)]);
  });

  it("shows every key of a provider", () => {
    for (const key of Object.keys(providerSchema.shape))
      expect(text).toMatch(new RegExp(`^(# )?${key} = `, "m"));
  });

  it("says of every key in its examples what the schema says, with its example or default", () => {
    const { properties = {} } = jsonSchemaOf(providerSchema);
    const examples = [...text.matchAll(/((?:^# {3}.*\n)+)# (\w+) = (.*)$/gm)];
    expect(examples.length).toBeGreaterThan(20);
    for (const [, comment = "", key = "", value = ""] of examples) {
      const { description, examples: [example] = [], default: usual } = properties[key] ?? {};
      expect(
        comment
          .replace(/^# {3}/gm, "")
          .trim()
          .replaceAll("\n", " "),
        key,
      ).toBe(description);
      if (key !== "healthcheck") expect(JSON.parse(value), key).toEqual(example ?? usual);
    }
  });

  it("keeps its lines short and ends with a newline", () => {
    expect(
      Math.max(
        ...text
          .split("\n")
          .filter((line) => line.startsWith("# ") && !line.includes(" = "))
          .map((line) => line.length),
      ),
    ).toBeLessThanOrEqual(100);
    expect(text.endsWith("\n")).toBe(true);
  });
});
