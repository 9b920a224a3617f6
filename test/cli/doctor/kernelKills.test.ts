import { join } from "node:path";
import type { ContainerState } from "@local-serving/machines/docker/containers";
import { describe, expect, it } from "vitest";
import { fromFiles } from "../../../cli/doctor/read/fromFiles";
import { reportsOf } from "../../../cli/rules/report";
import { container } from "./cases";
import { STACK_TEXT, stackOf } from "./stack";

/** As Linux 6.18 wrote it of a process in this container. */
const KILL = join(__dirname, "fixtures/killed-in-container.dmesg");
const ID = "ab".repeat(32);

describe("a kill by the kernel inside of a container", () => {
  it.each<[string, Partial<ContainerState>, readonly string[]]>([
    ["counts for the container that it names", { id: ID }, ["killed-for-memory"]],
    [
      "is over once that container was started again",
      { id: ID, startedAt: "2026-11-22T10:27:24Z" },
      [],
    ],
    ["is no matter of other containers", {}, []],
  ])("%s", async (_, state, ids) => {
    const facts = await fromFiles({ dmesg: KILL });
    const reports = reportsOf({
      ...facts,
      containers: [container(state)],
      stack: stackOf(STACK_TEXT),
    });
    expect(reports.map(({ id }) => id)).toEqual(ids);
  });

  it("is nobody's matter in a control group of another program, whose own limit was reached", async () => {
    const facts = await fromFiles({
      dmesg: join(__dirname, "fixtures/killed-in-another-group.dmesg"),
    });
    const reports = reportsOf({
      ...facts,
      containers: [container({ id: ID })],
      stack: stackOf(STACK_TEXT),
    });
    expect(reports).toEqual([]);
  });

  it("counts for a container that was given without a stack file", async () => {
    const facts = { ...(await fromFiles({ dmesg: KILL })), containers: [container({ id: ID })] };
    expect(reportsOf(facts).map(({ id }) => id)).toEqual(["killed-for-memory"]);
  });

  it("is told of a container that was given without a stack file, by its state alone", () => {
    const containers = [container({ name: "b", status: "exited", exitCode: 137 })];
    const [report, ...others] = reportsOf({ logs: [], containers });
    expect([report?.id, report?.evidence, others]).toEqual([
      "killed",
      "container b: exited, exit code 137, 0 restarts",
      [],
    ]);
    expect(report?.command).toContain("docker inspect");
  });

  it("counts where nothing is known of containers", async () => {
    const reports = reportsOf({
      ...(await fromFiles({ dmesg: KILL })),
      stack: stackOf(STACK_TEXT),
    });
    expect(reports.map(({ id }) => id)).toEqual(["killed-for-memory"]);
  });
});
