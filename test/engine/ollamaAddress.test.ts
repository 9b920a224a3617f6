import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { stack as settingsOf } from "../fixtures/machine";
import { describeEngine } from "./available";
import { HostFileStack } from "./hostFileStack";

function dropInFor(listen: string): string {
  const planned = plan(settingsOf({ simpleServer: { mode: "host", listen } }), {
    home: "/home/me",
  });
  const file = planned.machines[0]?.files.find(({ role }) => role === "simple-server-dropin");
  return file?.text ?? "";
}

describeEngine("Ollama's address", () => {
  let stack: HostFileStack;
  const path = () => join(stack.machine, "ollama.service.d/50-local-serving.conf");
  const declare = (listen: string) =>
    stack.declare({ dropIn: { unit: "ollama.service", path: path(), text: dropInFor(listen) } });

  beforeAll(async () => {
    stack = await HostFileStack.open();
    stack.program("sudo", '#!/bin/sh\n[ "$1" = -n ] || exit 1\nshift\nexec "$@"\n');
    stack.program("systemctl", `#!/bin/sh\necho "$*" >>'${stack.log("systemctl.log")}'\n`);
    declare("127.0.0.1");
    const up = await stack.workspace.up("--skip-preview");
    expect(up, up.stdout + up.stderr).toMatchObject({ code: 0 });
  });
  afterAll(() => stack.close());

  it("changes the drop-in alone, in one line to be read, and restarts its unit once", async () => {
    declare("0.0.0.0");
    const up = await stack.workspace.up("--skip-preview", "--diff");
    expect(up, up.stdout + up.stderr).toMatchObject({ code: 0 });
    expect(new Set(up.steps.map(({ op, name }) => `${op} ${name}`))).toEqual(
      new Set(["update drop-in", "update drop-in-check", "update drop-in-restart"]),
    );
    expect(up.stdout).toContain('- Environment="OLLAMA_HOST=127.0.0.1:11434"');
    expect(up.stdout).toContain('+ Environment="OLLAMA_HOST=0.0.0.0:11434"');
    expect(readFileSync(path(), "utf8")).toContain('Environment="OLLAMA_HOST=0.0.0.0:11434"');
    const asked = readFileSync(stack.log("systemctl.log"), "utf8").trim().split("\n");
    expect(asked.filter((line) => line.startsWith("restart"))).toHaveLength(2);
  });
});
