import { expect, it } from "vitest";
import { withShortDigests } from "../../../cli/plan/shortDigests";

const [ONE, TWO] = ["1", "2"].map((digit) => `sha256:${digit.repeat(64)}`);
const [SHORT_ONE, SHORT_TWO] = ["1", "2"].map((digit) => `sha256:${digit.repeat(12)}`);

it("leaves a digest whole once: in a command, else in the details", () => {
  const sections = [
    { title: "head", lines: [`${ONE} -> ${TWO}`, `\`serving pin mirror/vllm@${TWO} --write\``] },
    { title: "details", lines: [`${ONE}, ${TWO}`, `${ONE}`], isFolded: true as const },
    { title: "end", lines: [`${ONE}`] },
  ];
  expect(withShortDigests(sections).map(({ lines }) => lines)).toEqual([
    [`${SHORT_ONE} -> ${SHORT_TWO}`, `\`serving pin mirror/vllm@${TWO} --write\``],
    [`${ONE}, ${SHORT_TWO}`, `${SHORT_ONE}`],
    [`${SHORT_ONE}`],
  ]);
});
