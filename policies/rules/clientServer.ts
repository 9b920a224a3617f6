import { clientsOf } from "../lib/clients";
import { type Rule, violation } from "./rule";

/** Ollama's port. */
const SIMPLE_SERVER_PORT = "11434";

/** The simple server makes no structured tool calls, without which a coding client can do nothing but talk. */
export const clientServer: Rule = {
  name: "client-server",
  description: "Coding clients use an inference server, not the simple server.",
  level: "mandatory",
  judgeResource(resource) {
    return clientsOf(resource).flatMap(({ who, coding, baseUrl, onSimpleServer }) => {
      if (!coding || !(onSimpleServer || portOf(baseUrl) === SIMPLE_SERVER_PORT)) return [];
      return [
        violation(
          resource,
          `${who} is a coding client and would use the simple server (${baseUrl ?? "Ollama"}), which makes no structured tool calls. Point it at an inference server.`,
        ),
      ];
    });
  },
};

function portOf(url: string | undefined): string | undefined {
  try {
    return url === undefined ? undefined : new URL(url).port;
  } catch {
    return undefined;
  }
}
