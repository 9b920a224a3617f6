import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { plan } from "../../components/plan/plan";
import { isHere } from "../../components/planned/reach";
import { preflight } from "../../components/preflight/preflight";
import { fromMachine } from "../../operate/doctor/read/fromMachine";
import { inventory } from "../../operate/inventory/inventory";
import { thisHost } from "../../operate/verify/host";
import { targetsOf } from "../../operate/verify/targets";
import { dockerReader } from "../../operate/wait/container";
import { ELSEWHERE, stack } from "../fixtures/machine";
import { FakeDocker } from "../operate/fakeDocker";

it("a machine is this computer when its Docker engine listens on a socket file", () => {
  expect(isHere({ dockerHost: "unix:///run/user/1000/docker.sock" })).toBe(true);
  for (const dockerHost of ELSEWHERE) expect(isHere({ dockerHost })).toBe(false);
});

it.each(ELSEWHERE)("a plan warns of a machine at %s and changes nothing else", (dockerHost) => {
  const here = plan(stack(), { home: "/home/me" });
  const there = plan(stack({ dockerHost }), { home: "/home/me" });
  const [warning, ...others] = there.warnings;
  expect(warning?.code).toBe("elsewhere");
  expect(others).toEqual(here.warnings);
  expect(there.machines[0]?.containers).toEqual(here.machines[0]?.containers);
});

describe.each(ELSEWHERE)("of a machine at %s nothing is read here:", (dockerHost) => {
  const home = mkdtempSync(join(tmpdir(), "elsewhere-"));
  afterAll(() => {
    rmSync(home, { recursive: true });
    docker.remove();
  });
  const settings = stack({ dockerHost, venvs: ["~/venv"], instanceA: { gpuMemoryUtilization: 0.3 } });
  const planned = plan(settings, { home });
  const [machine] = planned.machines;
  const [declared] = Object.values(settings.machines);
  if (machine === undefined || declared === undefined) throw new Error("no machine planned");
  const docker = new FakeDocker({ ps: {}, info: { out: `${home}\n` } });
  beforeEach(() => void vi.stubEnv("PATH", docker.env.PATH ?? ""));
  afterEach(() => void vi.unstubAllEnvs());

  it("the preflight has one refusal, whatever lies or listens here", async () => {
    mkdirSync(dirname(machine.files[0]?.path ?? ""), { recursive: true });
    writeFileSync(machine.files[0]?.path ?? "", "theirs\n");
    const found = await preflight(planned, () => 0.9, false);
    expect(found.map(({ name, verdict }) => `${name}: ${verdict}`)).toEqual(["preflight of dgx: refused"]);
    expect(await preflight(planned, () => 0.9, true)).toEqual([]);
  });

  it("doctor says so, and asks the machine's own Docker", async () => {
    const { evidence, notes } = await fromMachine(machine, join(home, "Pulumi.dgx.yaml"));
    expect(notes).toEqual([
      "dgx is another computer: its memory, kernel log, sockets and files were not read.",
    ]);
    expect(Object.keys(evidence).sort()).toEqual(["allContainers", "containers", "logs"]);
    expect(readFileSync(docker.asked, "utf8")).toContain(`${dockerHost} ps`);
  });

  it("inventory says so", async () => {
    const found = await inventory(machine, declared, { home });
    expect(found.venvs).toEqual([]);
    expect(found.problems).toEqual(["dgx is another computer: its venvs were not read."]);
  });

  it("wait sees no download in a folder of this computer", async () => {
    mkdirSync(join(home, "tmp"), { recursive: true });
    writeFileSync(join(home, "tmp/GetImageBlob1"), "x".repeat(100));
    expect(await dockerReader(dockerHost).downloadedBytes()).toBe(0);
  });

  it("verify asks nothing on loopback and reads nothing", async () => {
    const targets = await targetsOf(machine, thisHost(dockerHost), { timeoutSeconds: 1 });
    expect(targets.map(({ unreachable }) => unreachable).filter((reason) => reason === undefined)).toEqual(
      [],
    );
  });
});
