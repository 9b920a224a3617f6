import { shellWord } from "../../../components/host/text";
import { isLoopback } from "../../../components/planned/reach";
import { APPLY, type Diagnosis, type Row, type Told } from "../diagnosis";
import { machineEdit, seen, setting, textSetting } from "../facts";
import { sign, startSign } from "../sign";

const COMPROMISED = sign(["1.82.7", "1.82.8"], /[Ll]ite[Ll][Ll][Mm]\D{0,40}\bv?(1\.82\.[78])\b/);

/** A release that is known to be sound, by the digest of its multi-arch index. */
export const SOUND_IMAGE =
  "ghcr.io/berriai/litellm:v1.103.0@sha256:bd089afdcd35b894b14a93f9743cdc8b591f82da1a38dd43a010a7b0c9de5fd7";

/** The plan's own file never has this fault, so what runs is another one. */
const NOT_OUR_FILE =
  "No setting to change: the file that the plan writes has no such entry, so the bridge runs another one or an older one. Apply the plan and restart the bridge.";

function restartBridge({ facts: { stack } }: Told): string {
  const bridge = stack?.plan.containers.find((each) => each.role === "bridge");
  return `npm run up && docker restart ${bridge?.name ?? "<bridge>"}`;
}

export const bridge: readonly (Diagnosis | Row)[] = [
  {
    id: "bridge-generic-prefix",
    source:
      'specification, Errors: "Multi-turn request through the bridge with generic provider prefix"; BerriAI/litellm PR 22851',
    caughtBy: "the plan, which only ever writes `hosted_vllm/`",
    when: sign(
      ["validation errors", "input_text"],
      /\b\d{2,} validation errors?\b.{0,4000}input_text|input_text.{0,4000}\b\d{2,} validation errors?\b|\b212 validation errors\b|\bwith the validation errors of \/v1\/responses\b/,
    ),
    say: (told) => ({
      cause:
        "The bridge's entry has the generic prefix `openai/`, which sends the conversation through /v1/responses; it must be `hosted_vllm/<served name>`.",
      advice: NOT_OUR_FILE,
      command: restartBridge(told),
    }),
  },
  {
    id: "bridge-without-key",
    source: "LiteLLM 1.104.9 and later refuse to start without a master key",
    caughtBy: "the plan, which gives the bridge a key or a placeholder on loopback",
    when: startSign("LiteLLM proxy refused to start", /LiteLLM proxy refused to start: (.{0,60})/),
    say({ facts }) {
      const cause = "The bridge has no master key, or a publicly known one, and refuses to start.";
      const variable = textSetting(facts, "bridge", "keyVariable");
      return variable === undefined
        ? { cause, advice: NOT_OUR_FILE, command: "npm run up" }
        : {
            cause,
            advice: `No setting to change: its key comes from ${variable}, which was empty or not set in the shell that ran \`up\`.`,
            command: `test -n "$${variable}" && npm run up`,
          };
    },
  },
  {
    id: "bridge-wrong-key",
    source: 'LiteLLM 1.109.1: a wrong key is answered 400 "No connected db.", none 401',
    caughtBy: "the launcher, which takes the key from the same variable",
    when: sign(["No connected db", "No api key passed in"]),
    say({ facts, hit }) {
      const variable = textSetting(facts, "bridge", "keyVariable");
      return {
        cause: hit.line.includes("No connected db")
          ? "A client sent a key that isn't the bridge's; the bridge then asks a database for it and has none."
          : "A client sent no key to the bridge.",
        advice:
          variable === undefined
            ? "No setting to change: start the client with its launcher, which sends the placeholder that the bridge knows."
            : `No setting to change: export ${variable} with the value that the bridge was started with, then start the client with its launcher.`,
        command: "local-claude",
      };
    },
  },
  {
    id: "bridge-cooldown",
    source: "LiteLLM 1.109.1: one upstream error puts a lone deployment into a cooldown of 5 s",
    caughtBy: "the plan, which sets `disable_cooldowns: true` and `num_retries: 0`",
    when: sign("No deployments available for selected model"),
    say: (told) => ({
      cause:
        "After one error of the server, the bridge refuses every request for a while, although it has only that server.",
      advice: NOT_OUR_FILE,
      command: restartBridge(told),
    }),
  },
  {
    id: "bridge-upstream-down",
    source: "LiteLLM: Hosted_vllmException - Cannot connect to host",
    caughtBy: "the plan's warning `loopback-only`, where the server is declared to listen on loopback",
    aside: true,
    when: sign("Hosted_vllmException", /Hosted_vllmException - Cannot connect to host ([^\s:]+):(\d+)/),
    say({ hit, facts: { containers } }) {
      const [host = "", port = ""] = hit.groups;
      // The bridge keeps its log while a server is replaced.
      if (containers?.some(({ name, health }) => name === host && health === "healthy"))
        return {
          cause: `Nothing answered the bridge at ${host}:${port} while the server was down or starting; it is healthy now.`,
          advice: "Nothing to change.",
          command: "serving verify",
        };
      return isLoopback(host)
        ? {
            cause: `The bridge looks for the server on its own loopback (${host}:${port}), where a container finds only itself.`,
            advice: NOT_OUR_FILE,
            command: "npm run up",
          }
        : {
            cause: `Nothing answers the bridge at ${host}:${port}: the server is down or still starting.`,
            advice:
              "No setting to change, unless the server itself has a diagnosis: look at its container first.",
            command: `docker ps --all --filter publish=${port}; serving wait`,
          };
    },
  },
  {
    id: "bridge-compromised",
    source: "BerriAI/litellm #24512, OSV MAL-2026-2144: 1.82.7 and 1.82.8 were compromised",
    caughtBy: "the policy `deny-list`",
    explain(facts) {
      const running = facts.containers?.find(({ image }) => /litellm\S*:v?1\.82\.[78]\b/.test(image));
      const shown = running && `container ${running.name}: image ${running.image}`;
      const evidence = seen(facts, COMPROMISED)?.line ?? shown;
      if (evidence === undefined) return undefined;
      return {
        cause:
          "This LiteLLM is one of two releases that steal credentials: stop it, and change every key it could read.",
        evidence,
        ...(facts.stack !== undefined && setting(facts, "bridge") === undefined
          ? { advice: "No setting to change: it declares no bridge, so this one was started by hand." }
          : { edits: [machineEdit(facts, ["bridge", "image"], SOUND_IMAGE)] }),
        command: running === undefined ? APPLY : `docker stop ${shellWord(running.name)}`,
      };
    },
  },
];
