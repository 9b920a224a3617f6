/** Ports that a URL means when it names none (RFC 9110, sections 4.2.1 and 4.2.2). */
const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

/** An absolute http(s) URL, taken apart; or what is wrong with it, in words that never repeat the URL itself. */
export type HttpUrl =
  | {
      /** Scheme, host and port with the default port filled in: `http://127.0.0.1:80`. */
      readonly origin: string;
    }
  | { readonly fault: string };

/** Reads an absolute http(s) URL. A user name or password in it is refused: secrets do not belong in a config. */
export function httpUrl(text: string): HttpUrl {
  if (!/^https?:\/\/[^/?#\s\\]/i.test(text) || hasUnprintable(text)) {
    return { fault: "must be an absolute http(s) URL such as http://127.0.0.1:3000" };
  }
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return { fault: "is no valid URL: check its host and port" };
  }
  if (url.username !== "" || url.password !== "") {
    return { fault: "must hold no user name or password: secrets do not belong in a config" };
  }
  return { origin: `${url.protocol}//${url.hostname}:${url.port || DEFAULT_PORTS[url.protocol]}` };
}

/** The origin of a URL, or `undefined` when it is no absolute http(s) URL. */
export function originOf(text: string): string | undefined {
  const url = httpUrl(text);
  return "origin" in url ? url.origin : undefined;
}

function hasUnprintable(text: string): boolean {
  // URL parsers drop tabs and line breaks without a word, so that two different texts name one address.
  return [...text].some((letter) => letter <= " " || letter === "\u007f" || letter === "\\");
}
