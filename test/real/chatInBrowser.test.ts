import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFailed } from "vitest";
import { connections } from "../../components/services/chat-ui/connections";
import { CHAT_UI, planned } from "../fixtures/services";
import { freePort } from "../layers/freePort";
import { temporaryFolder } from "../layers/temporaryFolder";
import { openPage, type Page } from "./browser";
import { type Egress, watchEgress } from "./egress";
import { signUp, startOpenWebUi } from "./openWebUi";
import type { Serving } from "./process";
import { alreadyThere, title } from "./programs";
import { type ScriptedServer, startScriptedServer } from "./scriptedServer";

const program = inject("programs").openWebUi;
const chromium = alreadyThere("chromium", "CHROMIUM_PROGRAM");
const missing = "missing" in program ? program : chromium;

const EMAIL = "me@example.org";
const PASSWORD = "Correct-horse-9";

describe.skipIf("missing" in missing)(
  title("a chat in Chromium with the real Open WebUI", missing),
  () => {
    const folder = temporaryFolder("chat-");
    let model: ScriptedServer;
    let egress: Egress;
    let ui: Serving | undefined;
    let page: Page | undefined;
    let url: string;

    beforeAll(async () => {
      [model, egress] = [await startScriptedServer(), await watchEgress()];
    });
    afterAll(async () => {
      await page?.close();
      await ui?.stop();
      await Promise.all([model?.close(), egress?.close()]);
      rmSync(folder, { recursive: true, force: true });
    });

    /** Starts it on the same data, as its container's entrypoint does with both secrets. */
    const boot = async () => {
      if ("missing" in program) return;
      await ui?.stop();
      const port = await freePort();
      url = `http://127.0.0.1:${port}`;
      const administrator = { emailVariable: "CHAT_EMAIL", passwordVariable: "CHAT_PASSWORD" };
      const { chatUi } = planned(
        { chatUi: { ...CHAT_UI, port, administrator }, clients: {} },
        { port: model.port },
      );
      if (chatUi === null) throw new Error("the plan has no chat UI");
      const server = {
        key: "b",
        kind: "inference-server",
        serves: "chat",
        names: ["model"],
        maxModelLen: 1024,
      } as const;
      const at = {
        fromContainer: `http://127.0.0.1:${model.port}`,
        address: "127.0.0.1",
        port: model.port,
      };
      const variables = {
        ...chatUi.container.env,
        ...connections([{ ...server, ...at, container: undefined }]),
        ...{ WEBUI_ADMIN_EMAIL: EMAIL, WEBUI_ADMIN_PASSWORD: PASSWORD },
      };
      ui = await startOpenWebUi(program.path, variables, { data: folder, port, egress });
    };

    /** Waits until an expression of the page is true. */
    const until = (expression: string) =>
      expect
        .poll(() => page?.value(`Boolean(${expression})`), { timeout: 120_000, interval: 500 })
        .toBe(true);
    const fill = async (selector: string, text: string) => {
      await until(`document.querySelector('${selector}')`);
      await page?.value(`document.querySelector('${selector}').focus()`);
      await page?.write(text);
    };
    const shows = (text: string) =>
      until(`document.body.innerText.includes(${JSON.stringify(text)})`);

    it("logs its administrator in, lists the models, and shows an answer", {
      timeout: 900_000,
    }, async () => {
      if ("missing" in chromium) return;
      onTestFailed(() => page?.screenshot("/tmp/chat-failed.png"));
      await boot();
      expect((await signUp(url, "other@example.org")).status).toBe(403);
      page = await openPage(chromium.path, join(folder, "browser"), { width: 1280, height: 800 });
      await page.open(`${url}/auth`);
      await fill("input[type=email]", EMAIL);
      await fill("input[type=password]", PASSWORD);
      await page.value("document.querySelector('button[type=submit]').click()");
      await until("document.querySelector('#chat-input')");
      // News of the release, over the page.
      await page.value(
        "document.querySelectorAll('[role=dialog] button, .modal button').forEach((each) => each.click())",
      );
      await until("document.body.innerText.includes('model')");
      await fill("#chat-input", "Say hi.");
      await until("document.querySelector('#send-message-button:not([disabled])')");
      await page.value("document.querySelector('#send-message-button').click()");
      await shows("Hello from model");
    });

    it("lists the models again at the second start, and takes the same password", {
      timeout: 600_000,
    }, async () => {
      await boot();
      const answer = await fetch(`${url}/api/v1/auths/signin`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ email: EMAIL, password: PASSWORD }),
      });
      const { token, role } = (await answer.json()) as { token: string; role: string };
      expect(role).toBe("admin");
      const listed = await fetch(`${url}/api/models`, {
        headers: { authorization: `Bearer ${token}` },
      });
      const { data } = (await listed.json()) as { data: { id: string }[] };
      expect(data.map(({ id }) => id)).toEqual(expect.arrayContaining(["model", "org/model"]));
      expect((await signUp(url, "third@example.org")).status).toBe(403);
    });
  },
);
