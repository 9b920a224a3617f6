import { describe, expect, it } from "vitest";
import { readCatalogue } from "../../components/catalogue";
import { hostFileRequest } from "../../components/host/hostFileRequest";
import { judge } from "../../policies/judge";
import { planned } from "../fixtures/services";
import { declared } from "./declared";

/** What the engine's policies judge in addition to a plan: each file is a command of its own. */
function commandsOf(id: string, servedModelName: string) {
  const { files } = planned(
    {},
    { model: { id, family: "qwen3", thinking: true }, servedModelName },
  );
  return files.map(({ resource, path, mode, text }) =>
    declared("command:local:Command", resource, {
      create: "sh",
      stdin: hostFileRequest({ path, mode, holder: resource, content: text }),
    }),
  );
}

describe("the files of a plan", () => {
  const models = readCatalogue(process.cwd());

  it.each(models.map(({ id, servedModelName }) => [id, servedModelName]))(
    "are refused for no model of the catalogue that a bridge serves: %s",
    (id, name) => {
      const commands = commandsOf(id, name);
      expect(commands.length).toBeGreaterThan(5);
      const judged = judge(commands, {});
      expect(judged.length).toBeGreaterThan(20);
      expect(judged.filter(({ verdict }) => verdict !== "pass")).toEqual([]);
    },
  );
});
