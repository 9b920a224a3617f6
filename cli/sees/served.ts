import { Failed } from "@local-serving/base/faults/fault";
import { isRecord, jsonIn, objectsIn } from "@local-serving/base/faults/json";
import { redactSecrets } from "@local-serving/base/faults/secrets";
import { NoAnswer } from "@local-serving/base/http/ask";
import { quote } from "./answer";
import type { Api } from "./api";

/** What a server says that it serves. */
export interface Served {
  /** The names that requests may use, the first one first. */
  readonly names: readonly string[];
  /** What it was started with, where it tells. */
  readonly root: string | null;
  /** Tokens of its window; `null` where it doesn't tell. */
  readonly maxModelLen: number | null;
}

/** Reads what a server serves. Throws `Failed`, with what it answered instead. */
export async function readServed(api: Api): Promise<Served> {
  const { status, text } = await api.get("/v1/models").catch((error: unknown) => {
    if (error instanceof NoAnswer)
      throw new Failed(`${api.baseUrl} does not answer: ${error.message}.`);
    throw error;
  });
  const answer = jsonIn(text);
  const models = isRecord(answer) ? objectsIn(answer.data) : [];
  const names = models.flatMap(({ id }) => (typeof id === "string" && id !== "" ? [id] : []));
  if (status !== 200 || names.length === 0)
    throw new Failed(
      `${api.baseUrl}/v1/models answered ${status} and names no model: ${quote(redactSecrets(text)) || "it is empty"}.`,
    );
  const [first = {}] = models;
  const { root, max_model_len: length } = first;
  return {
    names,
    root: typeof root === "string" ? root : null,
    maxModelLen:
      typeof length === "number" && Number.isInteger(length) && length > 0 ? length : null,
  };
}
