import { log, runtime } from "@pulumi/pulumi";
import { afterEach, describe, expect, it, vi } from "vitest";
import program from "../../index";
import { serverInput, UNREACHED } from "../fixtures/machine";
import { type Recorded, record } from "./record";

const machine = (dockerHost: string) => ({
  totalGiB: 121.63,
  dockerHost,
  instanceA: { gpuMemoryUtilization: 0.45 },
  inferenceServers: { b: serverInput() },
});

describe.each(UNREACHED)("a machine whose Docker engine is at %s", (dockerHost) => {
  const said: string[] = [];
  afterEach(() => void vi.restoreAllMocks());

  /** What the program registers, and how it ends. */
  async function run(preview: boolean): Promise<{ recorded: Recorded[]; end: unknown }> {
    said.length = 0;
    vi.spyOn(log, "warn").mockImplementation(async (message) => void said.push(message));
    let end: unknown;
    const recorded = await record(async () => {
      vi.spyOn(runtime, "isDryRun").mockReturnValue(preview);
      runtime.setAllConfig({ "local-serving:machines": JSON.stringify({ dgx: machine(dockerHost) }) });
      end = await program().then(
        () => "done",
        (error: unknown) => error,
      );
    });
    return { recorded, end };
  }

  it("is refused by `up`, with one reason that says what to do, before anything is made", async () => {
    const { recorded, end } = await run(false);
    expect(recorded).toEqual([]);
    expect(end).toMatchObject({
      message: `Refused, and nothing was changed:\n- preflight of dgx: The Docker engine of dgx is at ${dockerHost}, so dgx is another computer, and files can't be written there through Docker: write \`dockerHost: ssh://user@${new URL(dockerHost).hostname.replace("127.0.0.1", "localhost")}\`, or run \`up\` on dgx itself, with \`dockerHost: unix:///var/run/docker.sock\`. A preview and \`serving plan\` work from here. In the stack file: \`machines.dgx.dockerHost: unix:///var/run/docker.sock\`.`,
    });
  });

  it("is previewed whole, with a warning", async () => {
    const { recorded, end } = await run(true);
    expect(end).toBe("done");
    expect(recorded.map(({ name }) => name)).toContain("dgx-b");
    expect(said.join("\n")).toContain("dgx is another computer");
    expect(said.join("\n")).not.toContain("preflight of dgx");
  });
});
