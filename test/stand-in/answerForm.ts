import type { RecordedRequest } from "./exchanges";

/**
 * The kind of a value: `"string"`, `"null"`, the fields of an object, the different forms in an
 * array.
 */
export type Form = string | readonly Form[] | { readonly [field: string]: Form };

/** What is the same in each answer to a request, whatever the model says. */
export interface AnswerForm {
  readonly status: number;
  /**
   * Its body; of a stream the names of its events as they first come, each with all that events of
   * that name hold, and the text of one that is no JSON. How many tokens an event brings is chance.
   */
  readonly body: Form;
  /** What a refusal says, to the letter. */
  readonly message?: string;
}

/** Sends a request to a server, `http://127.0.0.1:8001`. */
export async function answerForm(
  url: string,
  { route, body }: RecordedRequest,
): Promise<AnswerForm> {
  const [method = "", path = ""] = route.split(" ");
  const sent = typeof body === "string" ? body : JSON.stringify(body);
  const answer = await fetch(`${url}${path}`, {
    method,
    ...(sent === undefined ? {} : { body: sent, headers: { "content-type": "application/json" } }),
  });
  const text = await answer.text();
  const { status } = answer;
  if (answer.headers.get("content-type")?.startsWith("text/event-stream"))
    return { status, body: eventForms(text) };
  if (text === "") return { status, body: "nothing" };
  const json = JSON.parse(text) as { readonly error?: { readonly message?: string } };
  const message = json.error?.message;
  return { status, body: formOf(json), ...(message === undefined ? {} : { message }) };
}

function eventForms(text: string): Form {
  const forms = new Map<string, Form>();
  for (const event of text.trim().split("\n\n")) {
    const [, name = "chunk"] = /^event: (.*)$/m.exec(event) ?? [];
    const [, data = ""] = /^data: (.*)$/m.exec(event) ?? [];
    if (!data.startsWith("{")) forms.set(data, "no JSON");
    else forms.set(name, both(forms.get(name), formOf(JSON.parse(data))));
  }
  return [...forms].map(([name, form]) => [name, form]);
}

/** What is in either form. */
function both(one: Form | undefined, other: Form): Form {
  if (one === undefined) return other;
  if (isArray(one) && isArray(other)) {
    const [first, ...more] = [...one, ...other];
    return first === undefined ? [] : [more.reduce<Form>(both, first)];
  }
  if (typeof one === "object" && typeof other === "object" && !isArray(one) && !isArray(other)) {
    const fields = [...new Set([...Object.keys(one), ...Object.keys(other)])].sort();
    return Object.fromEntries(
      fields.map((field) => [field, both(one[field], other[field] ?? one[field] ?? "")]),
    );
  }
  const kinds = [one, other].flatMap((form) =>
    typeof form === "string" ? form.split(" | ") : ["object"],
  );
  return [...new Set(kinds)].sort().join(" | ");
}

/** `Array.isArray` doesn't tell a readonly array from an object. */
const isArray = (form: Form): form is readonly Form[] => Array.isArray(form);

function formOf(value: unknown): Form {
  if (value === null) return "null";
  if (Array.isArray(value)) return different(value.map(formOf));
  if (typeof value !== "object") return typeof value;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([field, each]) => [field, formOf(each)]));
}

function different(forms: readonly Form[]): Form[] {
  return [...new Map(forms.map((form) => [JSON.stringify(form), form])).values()];
}
