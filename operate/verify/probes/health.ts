import { refusalText } from "../api";
import { fail, pass, type ServerProbe } from "../probe";

/** Whether the engine behind the HTTP server lives: vLLM answers 503 when it has died. */
export const health: ServerProbe = {
  name: "health",
  about: "GET /health answers 200",
  fix: ({ name }) =>
    `See whether it is still starting (serving wait) or has died (serving doctor; docker logs ${name}).`,
  run: async ({ api, name }) => {
    const answer = await api.get("/health");
    if (answer.status === 200) return pass("alive");
    return fail(
      `/health answered ${answer.status}: ${refusalText(answer)}`,
      answer.status === 503
        ? `The engine has died: see docker logs ${name}, then serving doctor.`
        : "Another program listens on this port, or something stands in front of it: see `ss -lntp`.",
    );
  },
};
