import { afterAll, beforeAll, expect, it } from "vitest";
import { describeEngineWithGpus } from "../../engine/available";
import { type HostProcess, startInstanceA } from "../../engine/instanceA";
import { SHARE } from "../../engine/stackConfig";
import { VerifiedStack } from "../../engine/verifiedStack";
import { freePort } from "../../layers/freePort";
import { image, WRONG } from "./wrongImages";

describeEngineWithGpus("`serving up --verified` of a newer image", () => {
  let stack: VerifiedStack;
  let instanceA: HostProcess;
  let aBefore: string;
  beforeAll(async () => {
    const port = await freePort();
    instanceA = await startInstanceA(port, SHARE);
    aBefore = instanceA.startTime();
    stack = await VerifiedStack.open(await image(), {
      machine: { instanceA: { port, gpuMemoryUtilization: SHARE } },
      // Long prompts need room.
      server: { maxModelLen: 131_072 },
    });
  }, 600_000);
  afterAll(async () => {
    instanceA.stop();
    await stack.close();
  });

  const docker = (type: string) => type.startsWith("docker:");

  it.each(Object.entries(WRONG))(
    "that %s ends on the old one, and is not tried again by accident",
    async (_, { make, decided, untouched }) => {
      const newer = await make();
      stack.configure(newer);
      const { code, stdout, stderr } = await stack.serving("up", "--verified", "--yes");
      const said = stdout + stderr;
      expect(code, said).toBe(1);
      expect(said).toMatch(decided);
      expect((await stack.running()).image, said).toBe(stack.parts.image.reference);
      expect(await stack.callsTools()).toBe(true);
      expect(instanceA.startTime()).toBe(aBefore);

      if (untouched !== true) {
        const plain = await stack.workspace.up();
        expect(plain.code).not.toBe(0);
        expect(plain.stdout + plain.stderr).toContain("serving up --again");
        expect(plain.steps.filter(({ type }) => docker(type))).toEqual([]);
        expect((await stack.running()).image).toBe(stack.parts.image.reference);
      }
      stack.configure();
      const back = await stack.workspace.up("--expect-no-changes");
      expect(back, back.stdout + back.stderr).toMatchObject({ code: 0, steps: [] });
    },
    900_000,
  );

  it("that is right stays, and is the verified one then", async () => {
    const newer = await image();
    stack.configure(newer);
    const { code, stdout, stderr } = await stack.serving("up", "--verified", "--yes");
    expect(code, stdout + stderr).toBe(0);
    expect((await stack.running()).image).toBe(newer.reference);
    const against = await stack.serving("plan", "--against", "verified");
    expect(against.stdout).toContain("Changed settings\n  None.\n");
    expect(instanceA.startTime()).toBe(aBefore);
  });
});
