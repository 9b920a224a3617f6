import { Failed } from "@local-serving/base/commandLine/exit";
import { HERE } from "@local-serving/machines/address";
import { type Files, filesOf } from "@local-serving/machines/files";
import { operatorHome } from "../../../components/evidence";
import { OLLAMA_URL, whyNot } from "../../../components/preflight";

/** Where the machine is looked at. */
export interface Sources {
  readonly dockerHost: string;
  readonly files: Files;
  readonly proc: string;
  readonly sys: string;
  /** Variables of whoever logs in there. */
  readonly env: Readonly<Record<"PATH" | "HF_HOME", string | undefined>>;
  readonly home: string;
  readonly ollamaUrl: string;
  /**
   * Ports at which another user's process is asked whether it is a vLLM; people count up from
   * vLLM's own.
   */
  readonly usualPorts: readonly number[];
}

const USUAL = {
  proc: "/proc",
  sys: "/sys",
  ollamaUrl: OLLAMA_URL,
  usualPorts: Array.from({ length: 10 }, (_, index) => 8000 + index),
};

export function thisComputer(): Sources {
  const { DOCKER_HOST: given, PATH, HF_HOME } = process.env;
  const dockerHost = given?.startsWith("unix:///") ? given : HERE;
  return {
    ...USUAL,
    dockerHost,
    files: filesOf({ dockerHost }),
    env: { PATH, HF_HOME },
    home: operatorHome(),
  };
}

/** Prints its home and two variables of a login behind whatever its profile says. */
const LOGIN = 'cd && printf "\\n%s\\n%s\\n%s" "$(pwd -P)" "$HF_HOME" "$PATH"';

/** A machine over ssh. Throws `Failed`, with what to do, where ssh doesn't get there. */
export async function sourcesAt(dockerHost: string): Promise<Sources> {
  const files = filesOf({ dockerHost });
  const { code, out, err } = await files.ask(["sh", "-lc", LOGIN]);
  if (code !== 0)
    throw new Failed(whyNot({ name: new URL(dockerHost).hostname, dockerHost }, err).message);
  const [home = "", HF_HOME, PATH] = out.split("\n").slice(-3);
  return { ...USUAL, dockerHost, files, env: { PATH, HF_HOME }, home };
}
