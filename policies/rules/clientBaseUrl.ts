import { clientsOf } from "../lib/clients";
import { type Rule, violation } from "./rule";

/** A messages-style client adds /v1/messages itself: with /v1 in its base URL every call is a 404 that blames the model. */
export const clientBaseUrl: Rule = {
  name: "client-base-url",
  description: "A messages-style client's base URL is a bare origin, without /v1.",
  level: "mandatory",
  judgeResource(resource) {
    return clientsOf(resource).flatMap(({ who, messagesStyle, baseUrl }) => {
      if (!messagesStyle || baseUrl === undefined) return [];
      const path = pathOf(baseUrl);
      if (path === "" || path === "/") return [];
      const why =
        path === undefined
          ? "which is not a URL. Give scheme, host and port, such as `http://127.0.0.1:8787`."
          : `which has the path \`${path}\`. It adds /v1/messages itself, so it would call \`${path.replace(/\/$/, "")}/v1/messages\`, and the 404 looks like a fault of the model. Remove the path.`;
      return [violation(resource, `${who} has the base URL \`${baseUrl}\`, ${why}`)];
    });
  },
};

function pathOf(url: string): string | undefined {
  try {
    return new URL(url).pathname;
  } catch {
    return undefined;
  }
}
