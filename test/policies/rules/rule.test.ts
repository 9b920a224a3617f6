import { expect, it } from "vitest";
import { advice, violation } from "../../../policies/rules/rule";
import { server } from "../declared";

it("a finding has a change only where one mends it, and never a key in its message", () => {
  const resource = server();
  const change = { setting: "port", value: 8002 };
  expect(violation(resource, "no")).toStrictEqual({ resource, kind: "violation", message: "no" });
  expect(advice(resource, "no", change)).toStrictEqual({ resource, kind: "advice", message: "no", change });
  expect(violation(resource, "has hf_s3cr3tValue1").message).toBe("has <redacted>");
});
