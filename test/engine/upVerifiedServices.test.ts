import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type PinnedImage, pinnedImage } from "../docker/image";
import { freePort } from "../layers/freePort";
import { mustRun } from "../layers/run";
import { describeEngineWithGpus } from "./available";
import { chatUiImage } from "./chatUiStub";
import { VerifiedStack } from "./verifiedStack";

const DATA = "/app/backend/data";

const MISSING =
  /The newer version had migrated the data of chat-ui \(0\.11\.3 to 0\.12\.4\), so the copy (\S+) is put back: what was written from (\S+Z) to (\S+Z) is not in it\. The newer data are kept: `serving restore chat-ui (\S+)[^`]*`\./;

/** LiteLLM as it is, and one that is alive but doesn't say so. */
const bridgeImage = (fault = ""): Promise<PinnedImage> =>
  pinnedImage({
    ...{ repository: "berriai/litellm", tag: "v1.103.0", entrypoint: ["litellm"] },
    ...(fault === ""
      ? {}
      : {
          programs: {
            litellm: `#!/bin/sh\nexec node /opt/stand-in/litellm.cjs --fault ${fault} "$@"\n`,
          },
        }),
  });

describeEngineWithGpus("serving up --verified with services", () => {
  let stack: VerifiedStack;
  let old: Record<"bridge" | "chatUi", PinnedImage>;
  let ports: Record<keyof typeof old, number>;

  const containers = () => ({
    bridge: `litellm-${ports.bridge}`,
    chatUi: `open-webui-${ports.chatUi}`,
  });
  /** Writes the stack file with other images of the services. */
  const configure = (images: Partial<typeof old> = {}) => {
    const { bridge, chatUi } = { ...old, ...images };
    stack.configure(undefined, {}, services(bridge, chatUi));
  };
  const services = (bridge: PinnedImage, chatUi: PinnedImage) => ({
    bridge: { image: bridge.reference, port: ports.bridge },
    chatUi: { image: chatUi.reference, port: ports.chatUi },
  });
  /** Runs the text of a program in the chat UI's container, and gives what it prints. */
  const inChatUi = (script: string) =>
    mustRun("docker", ["exec", containers().chatUi, "node", "-e", script]);
  const database = () =>
    inChatUi(`process.stdout.write(fs.readFileSync("${DATA}/webui.db", "utf8"))`);
  const write = (name: string, owner: number, mode: number) =>
    inChatUi(
      `const f = "${DATA}/uploads/${name}"; fs.writeFileSync(f, "${name}"); fs.chownSync(f, ${owner}, ${owner}); fs.chmodSync(f, ${mode})`,
    );
  /** What is among the uploads, each with its owner and mode. */
  const uploads = async () =>
    JSON.parse(
      await inChatUi(
        `const d = "${DATA}/uploads/"; console.log(JSON.stringify(Object.fromEntries(fs.readdirSync(d).map((n) => { const s = fs.statSync(d + n); return [n, [s.uid, s.gid, (s.mode & 0o777).toString(8)]]; }))))`,
      ),
    ) as Record<string, unknown>;
  const copies = () =>
    readdirSync(join(stack.workspace.home, ".local/share/local-serving/dgx/copies/chat-ui"))
      .filter((name) => !name.startsWith("."))
      .sort();
  const about = (copy: string) =>
    JSON.parse(
      readFileSync(
        join(
          stack.workspace.home,
          `.local/share/local-serving/dgx/copies/chat-ui/${copy}/copy.json`,
        ),
        "utf8",
      ),
    ) as Record<string, unknown>;
  const expectOld = async () => {
    const { bridge, chatUi } = containers();
    expect((await stack.running()).image).toBe(stack.parts.image.reference);
    expect((await stack.running(bridge)).image).toBe(old.bridge.reference);
    expect((await stack.running(chatUi)).image).toBe(old.chatUi.reference);
  };
  const upVerified = async () => {
    const up = await stack.serving("up", "--verified", "--yes");
    expect(up.code, up.stdout + up.stderr).toBe(1);
    return up.stderr;
  };
  /** The copies that the way back names, checked by what they hold. */
  const putBackIn = (said: string) => {
    const [, copy = "", from = "", to = "", kept = ""] = MISSING.exec(said) ?? [];
    expect([copies(), said]).toEqual([expect.arrayContaining([copy, kept]), said]);
    expect(about(copy)).toMatchObject({ at: from, revision: "0.11.3", why: "update" });
    expect(about(kept)).toMatchObject({ revision: "0.12.4", why: "restore" });
    expect(Date.parse(to)).toBeGreaterThanOrEqual(Date.parse(from));
  };

  beforeAll(async () => {
    old = { bridge: await bridgeImage(), chatUi: await chatUiImage({ version: "0.11.3" }) };
    ports = { bridge: await freePort(), chatUi: await freePort() };
    stack = await VerifiedStack.open(undefined, { machine: services(old.bridge, old.chatUi) });
    await write("before", 1000, 0o640);
  });
  afterAll(async () => {
    const volume = `net-${stack?.parts.unique}-chat-ui-data`;
    await stack?.close();
    await mustRun("docker", ["volume", "rm", "--force", volume]);
  });

  it("puts the data back that a newer chat UI has migrated, whose probe fails", async () => {
    configure({ chatUi: await chatUiImage({ version: "0.12.4", isWell: false }) });
    const said = await upVerified();
    expect(said).toMatch(/The update was put back: dgx\.chat-ui chat-ui-health failed \(/);
    putBackIn(said);
    await expectOld();
    expect(await database()).toBe("0.11.3");
    expect(await uploads()).toEqual({ before: [1000, 1000, "640"], talk: [1000, 1001, "640"] });
    configure();
    const same = await stack.workspace.up("--skip-preview");
    expect([same.code, same.steps], same.stdout).toEqual([0, []]);
  });

  it("keeps what was written where nothing was migrated, and puts a bridge back", async () => {
    configure({
      bridge: await bridgeImage("no-liveliness"),
      chatUi: await chatUiImage({ version: "0.11.4", revision: "0.11.3", writes: "meanwhile" }),
    });
    const before = copies();
    const said = await upVerified();
    expect(said).toMatch(/The update was put back: dgx\.bridge bridge-health failed \(/);
    expect(said).toContain(
      "The data of chat-ui stay as they are: the newer version did not migrate them (revision 0.11.3).",
    );
    await expectOld();
    expect(await uploads()).toHaveProperty("meanwhile");
    // The copy before the update, of which three stay.
    expect(copies().filter((name) => !before.includes(name))).toHaveLength(2);
  });
});
