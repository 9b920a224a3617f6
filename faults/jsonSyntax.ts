/** What may come next in JSON text. */
type Expected = "value" | "value-or-end" | "key" | "key-or-end" | "colon" | "comma-or-end" | "nothing";

const SCALAR = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![^\s,\]}:])/y;
const STRING_PART = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const SPACE = /[ \t\r\n]*/y;

/**
 * Where text stops being JSON: `JSON.parse` says so only in some of its messages, and quotes the text in the others.
 * The end of the text when something is missing there.
 */
export function jsonSyntaxErrorOffset(text: string): number {
  const open: ("{" | "[")[] = [];
  let expected: Expected = "value";
  let at = skip(text, 0);
  const behindValue = (): Expected => (open.length === 0 ? "nothing" : "comma-or-end");
  for (; at < text.length; at = skip(text, at)) {
    const char = text[at];
    const wantsValue: boolean = expected === "value" || expected === "value-or-end";
    const wantsKey: boolean = expected === "key" || expected === "key-or-end";
    if (char === '"' && (wantsValue || wantsKey)) {
      const end = stringEnd(text, at);
      if (text[end - 1] !== '"' || end - at < 2) return end;
      expected = wantsKey ? "colon" : behindValue();
      at = end;
    } else if (char === ":" && expected === "colon") {
      expected = "value";
      at += 1;
    } else if (char === "," && expected === "comma-or-end") {
      expected = open.at(-1) === "{" ? "key" : "value";
      at += 1;
    } else if ((char === "{" || char === "[") && wantsValue) {
      open.push(char);
      expected = char === "{" ? "key-or-end" : "value-or-end";
      at += 1;
    } else if (closes(char, open.at(-1), expected)) {
      open.pop();
      expected = behindValue();
      at += 1;
    } else {
      SCALAR.lastIndex = at;
      if (!wantsValue || !SCALAR.test(text)) return at;
      at = SCALAR.lastIndex;
      expected = behindValue();
    }
  }
  return text.trimEnd().length;
}

function closes(char: string | undefined, open: "{" | "[" | undefined, expected: Expected): boolean {
  if (char === "}") return open === "{" && (expected === "comma-or-end" || expected === "key-or-end");
  if (char === "]") return open === "[" && (expected === "comma-or-end" || expected === "value-or-end");
  return false;
}

/** Behind a string's closing quote, or at the character that may not stand in a string. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; ) {
    const char = text.charCodeAt(at);
    if (char === 0x22) return at + 1;
    if (char < 0x20) return at;
    if (char !== 0x5c) {
      at += 1;
      continue;
    }
    STRING_PART.lastIndex = at;
    if (!STRING_PART.test(text)) return at;
    at = STRING_PART.lastIndex;
  }
  return text.length;
}

function skip(text: string, at: number): number {
  SPACE.lastIndex = at;
  SPACE.test(text);
  return SPACE.lastIndex;
}
