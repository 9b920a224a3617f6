import { objectOr, objectsIn, textOr } from "../json";
import { fail, pass, type ServerProbe } from "../probe";
import { quote } from "../quote";
import { modelName } from "./models";

/** A base model is addressed through /v1/completions and through nothing else. */
export const completions: ServerProbe = {
  name: "completions",
  about: "POST /v1/completions continues a text (base models)",
  skip: ({ server }) =>
    server.model.kind === "base"
      ? undefined
      : "its model is a chat model, which is asked by chat completions",
  fix: ({ setting }) => `See ${setting("model")}: \`kind: base\` is for a model without a chat template.`,
  run: async (target) => {
    const body = await target.api.json("/v1/completions", {
      model: await modelName(target),
      prompt: "One, two, three,",
      max_tokens: 16,
      temperature: 0,
    });
    const text = textOr(objectsIn(body.choices)[0]?.text);
    const produced = objectOr(body.usage).completion_tokens;
    if (text.trim() === "")
      return fail("it continued the text with nothing", `See ${target.setting("model.id")}.`);
    return pass(`\`${quote(text)}\` (${String(produced)} tokens)`);
  },
};

/** Reason to leave out what needs a chat template. */
export const chatOnly = ({ server }: { server: { model: { kind: string } } }) =>
  server.model.kind === "chat" ? undefined : "its model is a base model (`model.kind: base`)";
