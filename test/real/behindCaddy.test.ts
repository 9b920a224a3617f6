import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import {
  createServer,
  type IncomingMessage,
  request as plainRequest,
  type Server,
} from "node:http";
import { request as tlsRequest } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { connect as tlsConnect } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../layers/freePort";
import { blocksOf } from "../readme/pages";
import { runToEnd, type Serving, serveUntilReady } from "./process";
import { alreadyThere, title } from "./programs";

const caddy = alreadyThere("caddy", "CADDY_PROGRAM");
const PAGE = "docs/guide/remote-access.md";
const [CHAT, MODELS] = ["spark.example.org", "models.example.org"];
const KEY = "Bearer s3cret-NoOutputMayHoldThis";
const FIRST = 'data: {"n":1}\n\n';
const LAST = "data: [DONE]\n\n";

describe.skipIf("missing" in caddy)(title("the page's Caddyfile in Caddy", caddy), () => {
  const folder = mkdtempSync(join(tmpdir(), "caddy-"));
  let serving: Serving;
  let chat: Service;
  let bridge: Service;
  let ports: { readonly http: number; readonly https: number };
  let ca: string;

  beforeAll(async () => {
    if ("missing" in caddy) return;
    [chat, bridge] = [await startService(), await startService(KEY)];
    ports = { http: await freePort(), https: await freePort() };
    const [admin, storage] = [await freePort(), join(folder, "storage")];
    const [sites = ""] = blocksOf(PAGE, "text").filter((text) => text.includes("reverse_proxy"));
    // The page's lines; around them only what makes them run beside other servers, and no authority.
    const options = [
      `admin 127.0.0.1:${admin}`,
      `http_port ${ports.http}`,
      `https_port ${ports.https}`,
      `storage file_system ${storage}`,
      "local_certs",
      "skip_install_trust",
    ];
    const file = join(folder, "Caddyfile");
    const here = sites
      .replace("127.0.0.1:8080", `127.0.0.1:${chat.port}`)
      .replace("127.0.0.1:8787", `127.0.0.1:${bridge.port}`);
    writeFileSync(file, `{\n${options.join("\n")}\n}\n${here}`);
    serving = await serveUntilReady(caddy.path, ["run", "--config", file], {
      env: { PATH: process.env.PATH ?? "", HOME: folder },
      cwd: folder,
      url: `http://127.0.0.1:${admin}/config/`,
      seconds: 60,
    });
    const root = join(storage, "pki/authorities/local/root.crt");
    ca = readFileSync(root, "utf8");
    writeFileSync(join(folder, "root.crt"), ca);
  });
  afterAll(async () => {
    await serving?.stop();
    for (const { server } of [chat, bridge]) server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const ask = (host: string, path: string, headers: Record<string, string> = {}) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const to = { host: "127.0.0.1", port: ports.https, servername: host, ca, path };
      const asking = tlsRequest({ ...to, headers: { host, ...headers } }, resolve);
      asking.on("error", reject).end();
    });

  it.each([CHAT, MODELS])("hands a stream of %s on as it comes", async (host) => {
    const service = host === CHAT ? chat : bridge;
    const answer = await ask(host, "/stream", { authorization: KEY });
    expect([answer.statusCode, answer.headers["content-type"]]).toEqual([200, "text/event-stream"]);
    answer.setEncoding("utf8");
    const parts: string[] = [];
    for await (const part of answer) {
      parts.push(String(part));
      // The service says no more until the first part is here.
      service.goOn();
    }
    expect(parts).toEqual([FIRST, LAST]);
    expect(service.asked.at(-1)).toMatchObject({
      host,
      authorization: KEY,
      "x-forwarded-proto": "https",
    });
  });

  it("asks for no key itself: the bridge does", async () => {
    expect((await ask(MODELS, "/v1/models")).statusCode).toBe(401);
    expect((await ask(MODELS, "/v1/models", { authorization: KEY })).statusCode).toBe(200);
    expect((await ask(CHAT, "/")).statusCode).toBe(200);
  });

  it("hands the chat's websocket on, both ways", async () => {
    const socket = tlsConnect({ host: "127.0.0.1", port: ports.https, servername: CHAT, ca });
    const upgrade = ["connection: Upgrade", "upgrade: websocket", `origin: https://${CHAT}`];
    socket.write(`GET /ws/socket.io/ HTTP/1.1\r\nhost: ${CHAT}\r\n${upgrade.join("\r\n")}\r\n\r\n`);
    socket.setEncoding("utf8");
    let said = "";
    for await (const part of socket) {
      said += String(part);
      if (said.endsWith("\r\n\r\n")) socket.write("ping");
      if (said.endsWith("echo ping")) break;
    }
    expect(said).toMatch(/^HTTP\/1\.1 101 [\s\S]*\r\n\r\necho ping$/);
    expect(chat.asked.at(-1)).toMatchObject({ host: CHAT, origin: `https://${CHAT}` });
  });

  it("sends plain HTTP to HTTPS, and answers to no other name", async () => {
    const status = await new Promise((resolve) =>
      plainRequest({ port: ports.http, path: "/v1/models", headers: { host: MODELS } }, (answer) =>
        resolve([answer.resume().statusCode, answer.headers.location]),
      ).end(),
    );
    expect(status).toEqual([308, `https://${MODELS}/v1/models`]);
    await expect(ask("other.example.org", "/")).rejects.toThrow(/alert internal error/);
  });

  it("is trusted by a Node program that has the authority's certificate, and by no other", async () => {
    const options = { port: ports.https, servername: MODELS, headers: { host: MODELS } };
    const script = `require("node:https").get(${JSON.stringify(options)}, (answer) => process.exit(answer.statusCode === 401 ? 0 : 2))`;
    const node = (env: Record<string, string>) =>
      runToEnd(process.execPath, ["-e", script], { env, cwd: folder, seconds: 30 });
    expect((await node({ NODE_EXTRA_CA_CERTS: join(folder, "root.crt") })).code).toBe(0);
    expect((await node({})).err).toContain("UNABLE_TO_GET_ISSUER_CERT_LOCALLY");
  });

  it("opens nothing else: what it stands before answers on loopback alone", async () => {
    const address = Object.values(networkInterfaces())
      .flatMap((each) => each ?? [])
      .find(({ family, internal }) => family === "IPv4" && !internal)?.address;
    const reaches = (port: number) =>
      new Promise((resolve) => {
        const socket = connect(port, address, () => socket.destroy());
        socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
      });
    expect(address).toBeDefined();
    const asked = [ports.https, ports.http, chat.port, bridge.port];
    expect(await Promise.all(asked.map(reaches))).toEqual([true, true, false, false]);
  });
});

interface Service {
  readonly server: Server;
  readonly port: number;
  /** Headers of what was asked. */
  readonly asked: IncomingMessage["headers"][];
  goOn(): void;
}

/** Stands for the chat UI or the bridge: a stream in two parts, a websocket, perhaps a key. */
async function startService(key?: string): Promise<Service> {
  const asked: IncomingMessage["headers"][] = [];
  const state = { goOn: () => {} };
  const server = createServer(({ headers, url }, response) => {
    asked.push(headers);
    if (key !== undefined && headers.authorization !== key) return response.writeHead(401).end();
    if (url !== "/stream") return response.end("{}");
    state.goOn = () => response.end(LAST);
    return response.writeHead(200, { "content-type": "text/event-stream" }).write(FIRST);
  });
  server.on("upgrade", ({ headers }, socket) => {
    asked.push(headers);
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n",
    );
    socket.on("data", (text) => socket.write(`echo ${String(text)}`));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { server, port, asked, goOn: () => state.goOn() };
}
