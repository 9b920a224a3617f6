import { existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { isRecord, textOr } from "@local-serving/base/faults/json";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { planned } from "../../fixtures/services";
import { freePort } from "../../layers/freePort";
import { FakeVolume, NEW, OLD } from "../../machines/copies/fakeVolume";
import { type Egress, watchEgress } from "../egress";
import { signUp, startOpenWebUi } from "../openWebUi";
import type { Serving } from "../process";
import { type Program, title } from "../programs";

const { old, newer } = inject("openWebUis");
const missing = [old, newer].find((each) => "missing" in each) ?? old;
const EMAIL = "me@example.org";
const CONVERSATION = "What the cat said";

/** The folder of the data stands for the volume; Docker's part of it is test/engine/'s. */
describe.skipIf("missing" in missing)(title("Open WebUI's data over two versions", missing), () => {
  const volume = new FakeVolume();
  let egress: Egress;
  let ui: Serving | undefined;
  let url = "";

  beforeAll(async () => {
    rmSync(volume.volume, { recursive: true });
    mkdirSync(volume.volume);
    volume.set({ python: "" });
    egress = await watchEgress();
  });
  afterAll(async () => {
    await ui?.stop();
    await egress?.close();
  });

  const boot = async (program: Program) => {
    if ("missing" in program) return;
    await ui?.stop();
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const { chatUi } = planned({ chatUi: { image: OLD, port }, clients: {} });
    const variables = Object.entries(chatUi?.container.env ?? {}).filter(
      ([name]) => !/BASE_URL|API_KEY|ENABLE_O/.test(name),
    );
    ui = undefined;
    ui = await startOpenWebUi(
      program.path,
      { ...Object.fromEntries(variables), ENABLE_OPENAI_API: "False", ENABLE_OLLAMA_API: "False" },
      { data: volume.volume, port, egress },
    );
  };
  const stop = async () => {
    await ui?.stop();
    ui = undefined;
  };
  const ask = async (path: string, body?: object, token = "") => {
    const answer = await fetch(`${url}/api/v1${path}`, {
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      ...(body && { method: "POST", body: JSON.stringify(body) }),
    });
    return (await answer.json()) as unknown;
  };
  const signIn = async () => {
    const account = await ask("/auths/signin", { email: EMAIL, password: "Correct-horse-9" });
    return isRecord(account) ? textOr(account.token) : "";
  };
  const titles = async () => {
    const chats = await ask("/chats/", undefined, await signIn());
    return Array.isArray(chats) ? chats.map((each) => (isRecord(each) ? each.title : each)) : chats;
  };
  const revisions = () => volume.names().map((name) => volume.about(name).revision);

  it("is copied before the newer version takes it", async () => {
    await boot(old);
    await signUp(url, EMAIL);
    const message = { id: "1", role: "user", content: "Meow", parentId: null, childrenIds: [] };
    const history = { currentId: "1", messages: { "1": message } };
    const chat = { title: CONVERSATION, models: ["cat"], messages: [message], history };
    await ask("/chats/new", { chat }, await signIn());
    expect(await titles()).toEqual([CONVERSATION]);
    await stop();
    // It leaves its log of changes, and a copy has it.
    expect(statSync(join(volume.volume, "webui.db-wal")).size).toBeGreaterThan(0);
    const { code, err } = await volume.run(["before"], { image: NEW });
    expect([code, revisions()], err).toEqual([0, ["d4c1a8e37b62"]]);
  });

  it("is migrated by the newer version, and then the older one doesn't start", async () => {
    volume.set({ container: "beef", image: NEW, running: "true" });
    await boot(newer);
    expect(await titles()).toEqual([CONVERSATION]);
    await stop();
    await expect(boot(old)).rejects.toThrow(/Can't locate revision identified by/);
  });

  it("is there again after the way back: the account signs in, the conversation is there", async () => {
    const { code, out, err } = await volume.run(["back", OLD], { image: OLD });
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      did: "put-back",
      before: "d4c1a8e37b62",
      revision: "0bd252b206fb",
    });
    expect(revisions()).toEqual(["d4c1a8e37b62", "0bd252b206fb"]);
    expect(existsSync(join(volume.volume, ".serving-restore"))).toBe(false);
    await boot(old);
    expect(await titles()).toEqual([CONVERSATION]);
    await stop();
  });

  it("goes to the newer version again by the copy that the way back kept", async () => {
    const [, kept = ""] = volume.names();
    expect((await volume.run(["put-back", kept, "no"], { image: OLD })).code).toBe(0);
    await boot(newer);
    expect(await titles()).toEqual([CONVERSATION]);
  });
});
