import { type IncomingMessage, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { KEY, KEYS, type Key, model, type Rig } from "./rig";

/** Status where nothing listens. */
export const NOBODY = -1;

export interface Answered {
  /** 0 where the connection ended without an answer, -1 where nothing listened. */
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  /** Whether the answer came to its end. */
  readonly whole: boolean;
  readonly seconds: number;
}

export interface Question {
  readonly path?: string;
  readonly stream?: boolean;
  readonly tenths?: number;
  readonly method?: string;
  /** The client leaves when it says so. */
  readonly signal?: AbortSignal;
}

/** Asks llama-swap for a model by its name, as a client does. */
export function ask(address: string, key: Key, question: Question = {}): Promise<Answered> {
  const { path = "/v1/chat/completions", stream = false, tenths = 0, method = "POST" } = question;
  const body = method === "POST" ? JSON.stringify({ model: model(key), stream, tenths }) : "";
  const began = Date.now();
  return new Promise((resolve) => {
    let text = "";
    let headers: IncomingMessage["headers"] = {};
    let status = 0;
    const done = (whole: boolean) =>
      resolve({ status, headers, text, whole, seconds: (Date.now() - began) / 1000 });
    const sent = request(
      {
        host: address,
        port: 8010,
        path,
        method,
        agent: false,
        signal: question.signal,
        headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      },
      (answer) => {
        ({ headers, statusCode: status = 0 } = answer);
        answer.setEncoding("utf8").on("data", (more: string) => {
          text += more;
        });
        answer.on("end", () =>
          done(answer.complete && (!stream || status !== 200 || text.includes("[DONE]"))),
        );
        answer.on("error", () => done(false));
      },
    );
    sent.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED") status = NOBODY;
      done(false);
    });
    sent.end(body);
  });
}

export const readies = (address: string, key: Key) =>
  ask(address, key, { path: `/upstream/${model(key)}/health`, method: "GET" });

export const unload = (address: string, key: Key) =>
  ask(address, key, { path: `/api/models/unload/${model(key)}` });

/** Whether llama-swap answers. */
export async function answers(address: string): Promise<boolean> {
  return (await ask(address, "a", { path: "/health", method: "GET" })).status === 200;
}

/** Unloads everything, also what the wrapper's look takes over meanwhile, until nothing runs. */
export async function emptied(rig: Rig): Promise<void> {
  const until = Date.now() + 90_000;
  while (!(await answers(rig.address))) await sleep(100);
  do {
    if (Date.now() > until) throw new Error(`${(await rig.running()).join(" and ")} run on`);
    for (const key of KEYS) await unload(rig.address, key);
    await sleep(500);
  } while ((await rig.running()).length > 0);
}
