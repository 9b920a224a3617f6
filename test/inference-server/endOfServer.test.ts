import { readFileSync, rmSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MachineOfGate, type RunningGate } from "./machineOfGate";
import { ALL_SHELLS } from "./processes";

const SERVER = "floor 2048\nstarts 3\nserver b 46080 600 http://127.0.0.1:9/health\n";
const BY_REQUEST = `${SERVER}end-when-spent b\n`;

describe.each(ALL_SHELLS.map((shell) => [shell.join(" "), shell] as const))(
  "the end of a server under %s",
  (_, shell) => {
    let machine: MachineOfGate;

    beforeEach(() => {
      machine = new MachineOfGate(shell);
      machine.put("gate", SERVER);
      machine.available(50);
    });
    afterEach(() => machine.end());

    const says = (gate: RunningGate, words: string | RegExp) =>
      expect.poll(gate.said, { interval: 5 }).toMatch(words);
    const ends = (gate: RunningGate) => gate.said().match(/vLLM ended after \d+ s, .*/g);

    it.each([
      ["exit 0", 0, "with code 0"],
      ["exit 3", 3, "with code 3"],
      ["exit 255", 255, "with code 255"],
      ["kill -KILL $$", 137, String.raw`by signal 9 \(KILL\)`],
      ["kill -SEGV $$", 139, String.raw`by signal 11 \(SEGV\)`],
    ])("is said, and is the container's: %s", async (body, code, how) => {
      machine.vllm(body);
      const gate = machine.start();
      expect(await gate.ended).toBe(code);
      expect(ends(gate)).toEqual([expect.stringMatching(new RegExp(`s, ${how}$`))]);
    });

    it.each([
      [
        "heeds TERM",
        'trap "exit 7" TERM; echo up; while :; do /bin/sleep 0.01; done',
        7,
        "with code 7",
      ],
      ["ends of TERM", "echo up; exec /bin/sleep 60", 143, "by signal 15 (TERM)"],
    ])(
      "comes as soon as it is asked for, and is no failed start: one that %s",
      async (_, body, code, how) => {
        machine.vllm(body);
        const gate = machine.start();
        await says(gate, /^up$/m);
        gate.child.kill("SIGTERM");
        expect(await gate.ended).toBe(code);
        expect(ends(gate)?.[0]).toContain(how);
        expect(gate.said()).not.toContain("KILL");
        expect(readFileSync(machine.at("shared/b.starts"), "utf8")).toBe("0123456789ab\n");
      },
    );

    it("is said at the floor too, and counts the seconds of each start anew", async () => {
      machine.vllm("echo up; exec /bin/sleep 60");
      const gate = machine.start();
      await says(gate, /^up$/m);
      machine.available(1);
      await says(
        gate,
        /stopped at the floor.*\nstart gate: vLLM ended after \d+ s, by signal 15 \(TERM\)\nstart gate: waiting/,
      );
      machine.vllm("exit 4");
      machine.available(50);
      expect(await gate.ended).toBe(4);
      const [, second = ""] = ends(gate) ?? [];
      // It ran for a few looks at most.
      expect(second).toMatch(/^vLLM ended after \d{1,2} s, with code 4$/);
    });

    it("is the gate's, once the budget is spent, where its file says so", async () => {
      machine.vllm("exit 3");
      machine.put("gate", BY_REQUEST);
      for (let start = 0; start < 3; start += 1) expect(await machine.start().ended).toBe(3);
      const closed = machine.start();
      expect(await closed.ended).toBe(1);
      expect(closed.said()).toBe(
        `start gate: closed: 3 starts within an hour failed. Find out why (serving doctor); after a change of the stack file \`npm run up\` goes on, without one: docker run --rm --volumes-from b --entrypoint rm $(docker inspect --format '{{.Image}}' b) ${machine.at("shared/b.starts")}\n`,
      );
      // It stays so at the next start, and what that command does opens it.
      expect(await machine.start().ended).toBe(1);
      rmSync(machine.at("shared/b.starts"));
      expect(await machine.start().ended).toBe(3);
    });

    it("is not the gate's by another server's line, and by a new one at once", async () => {
      machine.vllm("exit 3");
      machine.put("gate", `${SERVER}end-when-spent c\n`);
      for (let start = 0; start < 3; start += 1) expect(await machine.start().ended).toBe(3);
      const gate = machine.start();
      await says(gate, /closed: 3 starts within an hour failed.*: docker exec b rm /);
      expect(gate.child.exitCode).toBe(null);
      machine.put("gate", BY_REQUEST);
      expect(await gate.ended).toBe(1);
    });

    it("is not the gate's where only memory is missing", async () => {
      machine.put("gate", BY_REQUEST);
      machine.available(20);
      const gate = machine.start();
      await says(gate, "waiting for 45.00 GiB, 20.00 GiB are available");
      expect(gate.child.exitCode).toBe(null);
    });
  },
);
