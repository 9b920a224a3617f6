import type { Egress } from "./egress";
import { type Serving, serveUntilReady } from "./process";

/** Time for one start: 30 to 105 seconds were seen. */
export const START_SECONDS = 240;

/**
 * Starts Open WebUI with the variables of its container, on data that may be there from an earlier
 * start. Addresses must be such as this machine reaches.
 */
export function startOpenWebUi(
  program: string,
  variables: Readonly<Record<string, string>>,
  { data, port, egress }: { readonly data: string; readonly port: number; readonly egress: Egress },
): Promise<Serving> {
  const { WEBUI_SECRET_KEY_FILE: _ofTheImage, ...ours } = variables;
  return serveUntilReady(program, ["serve", "--host", "127.0.0.1", "--port", String(port)], {
    env: {
      ...{
        PATH: process.env.PATH ?? "",
        HOME: data,
        DATA_DIR: data,
        ANONYMIZED_TELEMETRY: "False",
      },
      ...ours,
      ...egress.variables,
    },
    // Outside its image it keeps the secret key where it is started.
    cwd: data,
    url: `http://127.0.0.1:${port}/health`,
    seconds: START_SECONDS,
  });
}

/** Signs somebody up; the first one becomes administrator. */
export function signUp(url: string, email: string): Promise<Response> {
  return fetch(`${url}/api/v1/auths/signup`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "Me", email, password: "Correct-horse-9" }),
  });
}
