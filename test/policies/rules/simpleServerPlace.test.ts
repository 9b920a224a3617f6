import { describe, expect, it } from "vitest";
import { plan } from "../../../components/plan/plan";
import { TYPE } from "../../../components/planned/type";
import { declaredResources } from "../../../components/program/machine/declaredResources";
import { stack } from "../../fixtures/machine";
import { HOME } from "../../fixtures/services";
import { container, DIGEST, declared, said, UNKNOWN_TEXT } from "../declared";

const RULE = "simple-server-place";
const CHAT = `ghcr.io/open-webui/open-webui:v0.11.3@${DIGEST}`;
const WITH_OLLAMA = `ghcr.io/open-webui/open-webui:v0.11.3-ollama@${DIGEST}`;
const machine = (mode: string, image: string) =>
  declaredResources(plan(stack({ simpleServer: { mode }, chatUi: { image } }), { home: HOME }));

describe("simple-server-place", () => {
  it("refuses an Ollama inside the chat UI beside one on the host", () => {
    expect(said(RULE, machine("host", WITH_OLLAMA))).toEqual([
      expect.stringContaining(
        "refused: chatUi starts an Ollama of its own beside the one on the host. Use an image without Ollama, or write `simpleServer: { mode: integrated }`: models pulled",
      ),
    ]);
  });

  it("refuses one inside the chat UI where its image holds none", () => {
    expect(said(RULE, machine("integrated", CHAT))).toEqual([
      expect.stringContaining("refused: The chat UI's image of dgx has no Ollama inside."),
    ]);
  });

  it("accepts either alone, and none", () => {
    expect(said(RULE, machine("host", CHAT))).toEqual([]);
    expect(said(RULE, machine("integrated", WITH_OLLAMA))).toEqual([]);
    expect(said(RULE, machine("none", CHAT))).toEqual([]);
  });

  it("counts hand-written containers, and takes their variables as the image does", () => {
    const ollama = container("ollama", { image: `ollama/ollama:0.34.4@${DIGEST}` });
    expect(said(RULE, [...machine("host", CHAT), ollama])).toHaveLength(1);
    const off = container("chat", { image: WITH_OLLAMA, envs: ["USE_OLLAMA_DOCKER=false"] });
    expect(said(RULE, [...machine("host", CHAT), off])).toEqual([]);
    const on = container("chat", { image: CHAT, envs: ["USE_OLLAMA_DOCKER=True"] });
    expect(said(RULE, [...machine("host", CHAT), on])).toHaveLength(1);
    const other = container("chat", { image: CHAT.replace("@", "-ollama-less@") });
    const unknown = container("x", { image: UNKNOWN_TEXT });
    expect(said(RULE, [...machine("host", CHAT), other, unknown])).toEqual([]);
    const place = declared(TYPE.machine, "dgx", { machine: "dgx", simpleServer: UNKNOWN_TEXT });
    expect(said(RULE, [place, ollama])).toEqual([]);
    expect(said(RULE, [ollama, container("chat", { image: WITH_OLLAMA })])).toEqual([
      "refused: chat starts a second Ollama on the machine. Keep only one.",
    ]);
  });

  it("counts no chat UI of ours whose image is not known", () => {
    const chat = container("chat", { image: UNKNOWN_TEXT }, { role: "chat-ui" });
    expect(said(RULE, [...machine("host", CHAT), chat])).toEqual([]);
  });

  it("takes the variable of Open WebUI's image in no other for an Ollama", () => {
    const props = { image: `nginx:1-ollama@${DIGEST}`, envs: ["USE_OLLAMA_DOCKER=true"] };
    expect(said(RULE, [...machine("host", CHAT), container("web", props)])).toEqual([]);
  });
});
