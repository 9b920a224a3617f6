import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { pinnedImage } from "../docker/image";
import { freePort } from "../layers/freePort";
import { mustRun, run } from "../layers/run";
import { temporaryFolder } from "../layers/temporaryFolder";
import { installed, packed } from "../package/packed";
import { describeEngineWithDocker } from "./available";
import { engineEnvironment } from "./environment";
import { TOTAL_GIB } from "./stackConfig";
import { writeStackFile } from "./stackFile";

const PAGE = readFileSync(join(__dirname, "../../docs/guide/backup.md"), "utf8");

/** The commands of the page between a line of prose and the end of its block. */
function commandsAfter(prose: string): string {
  const [, commands = ""] = PAGE.slice(PAGE.indexOf(prose)).split(/```\w*\n/);
  expect(commands).not.toBe("");
  return commands;
}

/** Stands for Open WebUI: what it keeps is a talk, once. */
const CHAT_UI = `#!/bin/sh
cd /app/backend/data
[ -e webui.db ] || echo "a new database" > webui.db
trap 'exit 0' TERM
while :; do sleep 1; done
`;

describeEngineWithDocker("an empty machine", () => {
  const root = temporaryFolder("empty-machine-");
  const [home, kept] = [join(root, "home"), join(root, "keep")];
  let env: Record<string, string | undefined> = {};
  let network = "";
  let container = "";
  let image = "";
  let port = 0;

  /** Runs commands of the page in a folder with our package, `serving` on PATH. */
  const type = (folder: string, commands: string) =>
    mustRun("sh", ["-euc", commands.replaceAll("/media/keep", kept)], {
      cwd: folder,
      env: { ...env, PATH: `${join(folder, "bin")}:${env.PATH}` },
    });
  const projectIn = async (name: string) => {
    const folder = join(home, name);
    await installed(await packed(), folder);
    mkdirSync(join(folder, "bin"));
    const program = join(folder, "node_modules/local-serving/bundle/serving.cjs");
    writeFileSync(join(folder, "bin/serving"), `#!/bin/sh\nexec node ${program} "$@"\n`, {
      mode: 0o755,
    });
    // It ends with 1 where something is to be mended first, such as a machine without a GPU.
    await type(folder, "serving init --no-install --pin 0.0.0 --name dgx || test $? -eq 1");
    return folder;
  };
  const inData = (command: string) =>
    mustRun("docker", ["exec", container, "sh", "-c", `cd /app/backend/data; ${command}`]);

  beforeAll(async () => {
    const layer = inject("engineLayer");
    if (layer.missing !== undefined) throw new Error(layer.missing);
    const given = engineEnvironment(root, layer);
    env = {
      ...given,
      PULUMI_BACKEND_URL: undefined,
      PULUMI_CONFIG_PASSPHRASE: undefined,
      LOCAL_SERVING_STACK: undefined,
    };
    port = await freePort();
    network = `net-e${port}`;
    container = `open-webui-${port}`;
    image = (
      await pinnedImage({
        programs: { bash: CHAT_UI, python3: "#!/bin/sh\ncat /data/webui.db\n" },
        ...{ entrypoint: ["bash"], command: ["start.sh"] },
        ...{ repository: "open-webui/open-webui", tag: "v0.11.3" },
      })
    ).reference;
  });
  afterAll(async () => {
    await run("docker", ["rm", "--force", container]);
    await run("docker", ["volume", "rm", "--force", `${network}-chat-ui-data`]);
    await run("docker", ["network", "rm", network]);
  });

  it("gets all of it back by the commands of the backup page", async () => {
    const before = await projectIn("spark");
    writeStackFile(join(before, "Pulumi.dgx.yaml"), {
      "local-serving:machines": {
        dgx: {
          ...{ totalGiB: TOTAL_GIB, network, operatingSystemGiB: 1, instanceA: "none" },
          chatUi: { image, port, connections: [] },
        },
      },
    });
    await type(before, "serving up --yes");
    await inData("echo 'the talk' > webui.db");
    mkdirSync(join(home, ".local/state/local-serving"), { recursive: true });
    writeFileSync(join(home, ".local/state/local-serving/verified"), "x");
    await type(before, commandsAfter("To keep everything"));
    expect(readdirSync(kept).sort()).toEqual([
      ".pulumi-state",
      "Pulumi.dgx.yaml",
      "copies",
      "local-serving",
    ]);

    // The machine is lost.
    await mustRun("docker", ["rm", "--force", container]);
    await mustRun("docker", ["volume", "rm", `${network}-chat-ui-data`]);
    await mustRun("docker", ["network", "rm", network]);
    for (const each of ["spark", ".local"])
      rmSync(join(home, each), { recursive: true, force: true });

    const after = await projectIn("spark");
    const [name = ""] = readdirSync(join(kept, "copies/chat-ui"));
    const commands = commandsAfter("To restore on an empty machine");
    // Pulumi and `restore` ask at a terminal alone.
    const said = commands
      .replaceAll("serving up", "serving up --yes")
      .replace("COPY", `${name} --yes`);
    await type(after, said);
    expect(await inData("read -r line < webui.db; echo $line")).toBe("the talk");
    expect(await type(after, "serving restore chat-ui")).toContain(name);
    const again = await type(after, "serving up --yes");
    expect(again).not.toMatch(/to (create|update|replace|delete)/);
    await type(after, "serving down --yes");
  });
});
