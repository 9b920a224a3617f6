import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MachineOfGate, type RunningGate } from "./machineOfGate";
import { ALL_SHELLS, which } from "./processes";

const HEALTH = "http://127.0.0.1:9/health";
const SERVER = `server b 46080 6 ${HEALTH}`;
const DECLARED = `floor 2048\nstarts 99\n${SERVER}\n`;

/** No number and no name of ours; what a shell evaluates leaves a file behind. */
const garbage = (canary: string): readonly string[] => [
  `$(>${canary})`,
  `\`>${canary}\``,
  `a[$(>${canary})]`,
  `PATH[$(>${canary})]=1`,
  `1;>${canary}`,
  "$((7/0))",
  "free=99999999",
  "*",
  "0x7fffffff",
  "08",
  "-1",
  "2048.5",
  "999999999999",
  "2048\r",
  "\\c",
  "\u001b[31m",
  `"'`,
];

/** Each word that a line of the gates' file has, in turn. */
const lines = (word: string): readonly string[] => [
  `floor ${word}`,
  `starts ${word}`,
  `instance-a ${word} 60 ${HEALTH}`,
  `instance-a 1 ${word} ${HEALTH}`,
  `instance-a 1 60 ${word}`,
  `server b ${word} 6 ${HEALTH}`,
  `server b 46080 ${word} ${HEALTH}`,
  `server b 46080 6 ${word}`,
  `rank b ${word} 192.0.2.1 29502 eth0`,
  `rank b 0 ${word} 29502 eth0`,
  `rank b 0 192.0.2.1 ${word} eth0`,
  `rank b 0 192.0.2.1 29502 ${word}`,
  `peer b ${word} 192.0.2.2 29502`,
  `peer b dgx2 ${word} 29502`,
  `peer b dgx2 192.0.2.2 ${word}`,
  `model b ${word}`,
  `model b org/m ${word}`,
];

describe.each(ALL_SHELLS.map((shell) => [shell.join(" "), shell] as const))(
  "what is damaged in the files of a gate under %s",
  (_, shell) => {
    let machine: MachineOfGate;
    let gate: RunningGate;
    let other: ChildProcess | undefined;

    beforeEach(() => {
      machine = new MachineOfGate(shell);
      machine.vllm("echo started; exec /bin/sleep 60");
      machine.put("gate", DECLARED);
      machine.available(50);
      gate = machine.start();
    });
    afterEach(() => {
      machine.end();
      other?.kill();
      other = undefined;
    });

    const times = (words: string) => gate.said().split(words).length - 1;
    const poll = <Value>(value: () => Value) => expect.poll(value, { interval: 2 });
    const started = (count: number) => poll(() => times("started\n")).toBe(count);
    /** From now on; a gate that waits says it again and again. */
    const says = (words: string) => poll(() => times(words)).toBeGreaterThan(times(words));
    const canary = () => machine.at("canary");

    /** What a server that runs beside the damage does: it gives way at the old floor. */
    async function givesWay(): Promise<void> {
      const stopped = says("stopped at the floor: 1.99 GiB are available, below 2.00 GiB");
      machine.available(1.99);
      await stopped;
      machine.available(50);
    }

    /** Nothing was evaluated, and nothing went wrong in the shell itself. */
    function isSound(): void {
      expect(existsSync(canary())).toBe(false);
      expect(gate.child.exitCode).toBe(null);
      // The last line may be on its way.
      expect(gate.said()).toMatch(/^(?:(?:start gate: .*|started)\n)*.*$/);
    }

    it("in its own file keeps the floor, and the server waits until it is written anew", async () => {
      const values = garbage(canary());
      const damaged = [...values.map((value) => `floor ${value}`), ...lines(`a[$(>${canary()})]`)];
      for (const [index, line] of damaged.entries()) {
        await started(index + 1);
        machine.put("gate", `floor 0\n${DECLARED.replace("2048", "1")}${line}\n`);
        await givesWay();
        await says("a number or a name in it is damaged");
        isSound();
        machine.put("gate", DECLARED);
      }
    });

    it("in the list of its starts is no start", async () => {
      for (const [index, value] of garbage(canary()).entries()) {
        await started(index + 1);
        // Once behind the container that counts, once in its place.
        const first = index % 2 === 0 ? "0123456789ab\n" : "";
        writeFileSync(machine.at("shared/b.starts"), `${first}${`${value}\n`.repeat(100)}`);
        await givesWay();
        await started(index + 2);
        isSound();
      }
    });

    it("in what another server takes that is starting lets nothing start beside it", async () => {
      const claim = machine.at("shared/c.claim");
      writeFileSync(claim, "1\n");
      other = spawn(which("flock"), [claim, "/bin/sleep", "60"]);
      for (const [index, value] of garbage(canary()).entries()) {
        await started(index + 1);
        writeFileSync(claim, `${value}\n`);
        await givesWay();
        await says("waiting for c, which is starting and takes 50.00 GiB");
        isSound();
        writeFileSync(claim, "1\n");
      }
    });

    it.each([
      ["a folder", (path: string) => void mkdirSync(path)],
      ["a pipe that nobody writes to", (path: string) => void spawnSync("mkfifo", [path])],
    ])("is %s in the place of each: it holds nobody up", async (_, make) => {
      const instead = (name: string) => {
        rmSync(machine.at(name), { recursive: true, force: true });
        make(machine.at(name));
      };
      await started(1);
      for (const each of ["gate", "shared/b.starts", "shared/c.claim"]) instead(each);
      await givesWay();
      await says("waiting for a line about b in ");
      rmSync(machine.at("gate"), { recursive: true });
      machine.put("gate", DECLARED);
      await started(2);
      isSound();
      expect(readdirSync(machine.at("shared")).sort()).toEqual([
        "b.claim",
        "b.starts",
        "c.claim",
        "lock",
      ]);
    });

    it("about another server, or of a later version, is none of its business", async () => {
      await started(1);
      const others = lines("$(x)").map((line) => line.replace(" b ", " c "));
      const known = others.filter((line) => !/^(?:floor|starts|instance-a)/.test(line));
      machine.put("gate", `\u0000\u0007\n\n# $(x)\nlater b $(x)\n${known.join("\n")}\n${DECLARED}`);
      await givesWay();
      await started(2);
      isSound();
    });
  },
);
