import { REDACTED } from "@local-serving/base/faults/secrets";
import { engineData } from "@local-serving/vllm/engineData";
import { expect, it } from "vitest";
import { KERNELS } from "../../../cli/rules/subjects/kernels";
import { ofLines } from "./ofLines";
import { PLACE_CASES } from "./placeCases";
import { REFUSAL_CASES } from "./refusalCases";
import { SERVICE_CASES } from "./serviceCases";
import { START_CASES } from "./startCases";

it.each(
  [...PLACE_CASES, ...START_CASES, ...SERVICE_CASES, ...REFUSAL_CASES].map(
    (each) => [`${each.id || "nothing"}: ${each.name}`, each] as const,
  ),
)("%s", async (_name, { id, note, lines, cause = "", change = "", not }) => {
  const all = await ofLines(...lines);
  const troubles = all.filter(({ severity }) => severity === "trouble");
  if (note !== undefined) expect(all.map((each) => each.id)).toEqual([note]);
  expect(troubles.map((each) => each.id)).toEqual(id === "" ? [] : [id]);
  const [report] = troubles;
  if (report === undefined) return;
  expect(report.cause).toContain(cause);
  expect(`${report.change} ${report.advice}`).toContain(change);
  expect(report.cause).toMatch(/\.$/);
  // An example of ours that reads like a secret would be taken out.
  expect(`${report.cause} ${report.change} ${report.command}`).not.toContain(REDACTED);
  if (not !== undefined) expect(JSON.stringify(report)).not.toMatch(not);
});

it("reads a log as Docker itself keeps it", async () => {
  const [{ lines = [] } = {}] = PLACE_CASES;
  const kept = lines.map((line) =>
    JSON.stringify({ log: `${line}\n`, stream: "stderr", time: "2026-09-05T10:19:15Z" }),
  );
  expect((await ofLines(...kept)).map(({ id }) => id)).toEqual(["built-for-another"]);
});

it("names only what vLLM has, where it takes a kernel out of the way", () => {
  for (const version of ["0.26.0", "0.30.0", "0.33.0"]) {
    const data = engineData(version);
    if (data === undefined) throw new Error(`There are no data of ${version}.`);
    const { choices, variables, values, switches } = data;
    const sets = [...KERNELS.makers, ...KERNELS.uses].flatMap(({ set }) => Object.keys(set));
    for (const path of sets) expect(variables).toContain(path.replace("environment.", ""));
    for (const { setting, option, argument, without } of KERNELS.uses) {
      const name =
        option?.slice(2) ?? setting?.replace(/[A-Z]/g, (at) => `-${at.toLowerCase()}`) ?? "";
      if (name !== "") expect(choices[name]).toEqual(expect.arrayContaining([...without]));
      const [flag = ""] = argument?.slice(2).split(" ") ?? [];
      if (flag !== "")
        expect([...values, ...Object.keys(switches)]).toContain(flag.replace(/^no-/, ""));
    }
  }
});
