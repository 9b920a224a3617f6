import { InvalidArgumentError, Option } from "commander";

/** The option that names a server by its address, whoever started it. */
export const baseUrlOption = (what: string): Option =>
  new Option("--base-url <url>", what).argParser(baseUrl);

/** Scheme, host and port; a path such as /v1 is left off, since probes name their own. */
function baseUrl(text: string): string {
  if (!URL.canParse(text))
    throw new InvalidArgumentError("Expected an address such as http://127.0.0.1:8001.");
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new InvalidArgumentError("Expected an address that begins with http:// or https://.");
  }
  if (!/^(\/v1)?\/?$/.test(url.pathname) || url.search !== "") {
    throw new InvalidArgumentError(
      "Expected scheme, host and port alone, such as http://127.0.0.1:8001.",
    );
  }
  return url.origin;
}
