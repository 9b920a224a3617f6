import type { JsonObject } from "@local-serving/base/faults/json";
import type { HttpAnswer } from "@local-serving/base/http/ask";
import { Api } from "../api";
import type { LlamaSwap } from "./llamaSwap";

/** What llama-swap passes on by the model in the body; all else is asked below the server's name. */
const PASSED =
  /^\/v1\/(?:chat\/completions|completions|messages(?:\/count_tokens)?|responses|embeddings|rerank)(?:\?|$)/;

/** The API of a server that llama-swap starts, asked as its clients ask it. */
export class SwapApi extends Api {
  constructor(
    private readonly swap: LlamaSwap,
    private readonly key: string,
    timeoutSeconds: number,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(swap.url, timeoutSeconds, { ...headers, ...swap.headers });
  }

  override get(path: string): Promise<HttpAnswer> {
    return super.get(this.swap.pathOf(this.key, path));
  }

  override post(path: string, body: JsonObject): Promise<HttpAnswer> {
    return super.post(PASSED.test(path) ? path : this.swap.pathOf(this.key, path), body);
  }
}
