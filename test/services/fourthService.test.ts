import { expect, it } from "vitest";
import { run } from "../layers/run";

it("the patch of a fourth service still applies (`npm run test:real -- --project fourth-service` runs it)", async () => {
  const applied = await run("git", [
    "apply",
    "--check",
    "-C1",
    "test/fixtures/fourth-service/search.patch",
  ]);
  expect(applied).toEqual({ code: 0, stdout: "", stderr: "" });
});
