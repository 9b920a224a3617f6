import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { forwardingTo } from "@local-serving/machines/onMachine";
import { afterEach, describe, expect, it, vi } from "vitest";
import { fromMachine } from "../../../cli/doctor/read/fromMachine";
import { inventory } from "../../../cli/inventory/inventory";
import { hostOf } from "../../../cli/sees/host";
import { keptTunnels, originFromHere, tunnelTo } from "../../../cli/sees/tunnel";
import { stack } from "../../fixtures/machine";
import { planned } from "../../fixtures/services";
import { FakeSsh } from "../../layers/fakeSsh";
import { temporaryFolder } from "../../layers/temporaryFolder";

const DGX = { dockerHost: "ssh://me@dgx", home: temporaryFolder("there-") };
afterEach(() => void vi.unstubAllEnvs());

/** An ssh that listens on each port that it is to forward, as long as it runs. */
const FORWARDS = `#!/usr/bin/env node
const ports = process.argv.flatMap((word, at) => (word === "-L" ? [process.argv[at + 1].split(":")[1]] : []));
for (const port of ports) require("node:net").createServer((socket) => socket.end()).listen(port, "127.0.0.1");
`;

const isOpen = (url: string) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1", () => socket.destroy());
    socket.on("error", () => resolve(false)).on("close", () => resolve(true));
  });

describe("the way to a machine's services over ssh", () => {
  it("is one connection of its own, with a port here for each of them", () => {
    const words = forwardingTo(DGX, [
      { here: 4001, address: "0.0.0.0", port: 8001 },
      { here: 4002, address: "192.168.1.20", port: 8002 },
    ]);
    expect(words.slice(0, 10)).toEqual([
      ...["ssh", "-N", "-o", "ControlPath=none", "-o", "ExitOnForwardFailure=yes"],
      ...["-L", "127.0.0.1:4001:127.0.0.1:8001", "-L", "127.0.0.1:4002:192.168.1.20:8002"],
    ]);
    expect(words.slice(-2)).toEqual(["--", "ssh://me@dgx"]);
  });

  it("is open while it is asked, and closed at the end", async () => {
    const ssh = new FakeSsh();
    writeFileSync(join(ssh.folder, "ssh"), FORWARDS);
    vi.stubEnv("PATH", ssh.path);
    const machine = planned(DGX);
    const tunnel = await tunnelTo(machine);
    expect([...tunnel.ports.keys()]).toEqual(machine.reach.map(({ port }) => port));
    const { url = "" } = originFromHere(machine, { address: "127.0.0.1", port: 8001 }, tunnel);
    expect(url).toBe(`http://127.0.0.1:${tunnel.ports.get(8001)}`);
    expect(await isOpen(url)).toBe(true);
    tunnel.close();
    await vi.waitFor(async () => expect(await isOpen(url)).toBe(false));
  });

  it("stays open for who looks again, and is opened anew once its ssh ended", async () => {
    const ssh = new FakeSsh();
    const started = join(ssh.folder, "started");
    const note = `require("node:fs").appendFileSync(${JSON.stringify(started)}, process.pid + "\\n");\n`;
    writeFileSync(join(ssh.folder, "ssh"), `${FORWARDS}${note}`);
    vi.stubEnv("PATH", ssh.path);
    const pids = () => readFileSync(started, "utf8").trim().split("\n").map(Number);
    const { open, close } = keptTunnels();
    const [first, beside] = await Promise.all([open(planned(DGX)), open(planned(DGX))]);
    first.close();
    const second = await open(planned(DGX));
    expect([beside.ports, second.ports]).toEqual([first.ports, first.ports]);
    const [pid = 0, ...others] = pids();
    expect(others).toEqual([]);
    process.kill(pid, "SIGKILL");
    await second.ended;
    await open(planned(DGX));
    expect(pids()).toHaveLength(2);
    close();
    await vi.waitFor(() => expect(() => process.kill(pids()[1] ?? 0, 0)).toThrow("ESRCH"));
    const refusing = new FakeSsh("Permission denied (publickey).");
    vi.stubEnv("PATH", refusing.path);
    await expect(open(planned(DGX))).rejects.toThrow("Permission denied (publickey).");
    vi.stubEnv("PATH", ssh.path);
    await open(planned(DGX));
    close();
  });

  it("that ssh doesn't open is said in ssh's words; a machine that is here needs none", async () => {
    vi.stubEnv("PATH", new FakeSsh("Host key verification failed.").path);
    await expect(tunnelTo(planned(DGX))).rejects.toThrow(
      "dgx (ssh://me@dgx) can't be reached over ssh: Host key verification failed.",
    );
    expect((await tunnelTo(planned())).ports.size).toBe(0);
  });
});

describe("what is read of a machine over ssh", () => {
  it("is its files, memory and addresses", async () => {
    const ssh = new FakeSsh();
    vi.stubEnv("PATH", ssh.path);
    writeFileSync(join(DGX.home, "a"), "text", { mode: 0o640 });
    const host = hostOf(DGX.dockerHost);
    expect(await host.file(join(DGX.home, "a"))).toEqual({ text: "text", mode: "0640" });
    expect(await host.file(join(DGX.home, "absent"))).toBeUndefined();
    expect(await host.meminfo()).toMatch(/^MemTotal:/);
    expect(await host.startTime(process.pid)).toMatch(/^\d+$/);
    expect(await host.lanAddresses()).toEqual(["dgx"]);
    expect(ssh.asked().every((line) => line.startsWith("ssh://me@dgx "))).toBe(true);
  });

  it("by doctor and inventory too", async () => {
    const ssh = new FakeSsh();
    for (const program of ["docker", "journalctl", "dmesg"])
      writeFileSync(join(ssh.folder, program), "#!/bin/sh\nexit 0\n", { mode: 0o755 });
    vi.stubEnv("PATH", ssh.path);
    const machine = planned(DGX);
    const { facts, notes } = await fromMachine({
      plan: machine,
      machines: [machine],
      file: join(DGX.home, "Pulumi.dgx.yaml"),
      refusals: [],
    });
    expect(notes).toEqual([]);
    expect(Object.keys(facts).sort()).toEqual([
      ...["addresses", "allContainers", "containers", "files", "filesAsApplied", "logs"],
      ...["meminfo", "offNetworks", "sockets"],
    ]);
    expect(facts.files?.every(({ state }) => state === "missing")).toBe(true);
    const [declared] = Object.values(stack({ ...DGX, venvs: ["~/venv"] }).machines);
    if (declared === undefined) throw new Error("a stack of one machine has one");
    expect((await inventory(machine, declared, { home: "/nowhere" })).problems).toEqual([
      `there is no ${DGX.home}/venv/bin/python`,
    ]);
  });
});
