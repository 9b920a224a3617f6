import { afterEach, describe, expect, it, vi } from "vitest";
import { connectionProblem } from "../../components/preflight/connection";
import { planned } from "../fixtures/services";
import { FakeSsh } from "../layers/fakeSsh";

afterEach(() => void vi.unstubAllEnvs());

async function problem(
  says: string | undefined,
  dockerHost: string,
  machine: Record<string, unknown> = {},
) {
  vi.stubEnv("PATH", new FakeSsh(says).path);
  return connectionProblem(planned({ dockerHost, ...machine }));
}

describe("a machine that ssh doesn't reach is refused with the command to try:", () => {
  it.each([
    [
      "an unknown host key",
      "No ED25519 host key is known for dgx and you have requested strict checking.\nHost key verification failed.",
      "No host key of dgx (ssh://me@dgx) is known here, and none is accepted unchecked. Run `ssh me@dgx` once and compare the key that it shows with `ssh-keyscan localhost | ssh-keygen -lf -` on dgx itself.",
    ],
    [
      "a changed host key",
      "@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n@@@@\nHost key verification failed.",
      "The host key of dgx (ssh://me@dgx) has changed: the machine was reinstalled, or something else answers at its address. Find out which. If it is the machine, run `ssh-keygen -R dgx`, then `ssh me@dgx`, and compare the key.",
    ],
    [
      "a refused login",
      "me@dgx: Permission denied (publickey,password).",
      "dgx (ssh://me@dgx) refuses the login: Permission denied (publickey,password). `ssh me@dgx` must work without a question: `ssh-copy-id me@dgx`, and `ssh-add` for a key with a passphrase.",
    ],
  ])("%s", async (_, says, message) => {
    expect(await problem(says, "ssh://me@dgx")).toEqual({
      verdict: "refused",
      message,
      setting: "dockerHost",
    });
  });

  it("nobody there: a warning, since other machines can be finished all the same", async () => {
    expect(
      await problem("ssh: connect to host dgx port 22: No route to host", "ssh://me@dgx"),
    ).toEqual({
      verdict: "warned",
      message:
        "dgx (ssh://me@dgx) can't be reached over ssh: ssh: connect to host dgx port 22: No route to host. Try `ssh me@dgx`.",
      setting: "dockerHost",
    });
  });

  it("a port and no user", async () => {
    const found = await problem("REMOTE HOST IDENTIFICATION HAS CHANGED!", "ssh://dgx:2222", {
      home: "/x",
    });
    expect(found?.message).toContain("run `ssh-keygen -R '[dgx]:2222'`, then `ssh -p 2222 dgx`");
  });
});

describe("the home directory of a machine", () => {
  it("is planned by the user's name, and refused where it is another one", async () => {
    vi.stubEnv("HOME", "/usr/bin");
    expect(await problem(undefined, "ssh://me@dgx")).toEqual({
      verdict: "refused",
      message: "The home directory on dgx is /usr/bin, but `~/` was planned as /home/me.",
      setting: "home",
      value: "/usr/bin",
    });
  });

  it("is believed where it is declared", async () => {
    expect(await problem(undefined, "ssh://me@dgx", { home: "/data/me" })).toBeUndefined();
    expect(
      planned({ dockerHost: "ssh://me@dgx", home: "/data/me" }).files.map(({ path }) => path),
    ).toContain("/data/me/.local/share/local-serving/dgx/applied-plan.json");
    expect(planned({ dockerHost: "ssh://root@dgx" }).files.map(({ path }) => path)).toContain(
      "/root/.local/share/local-serving/dgx/applied-plan.json",
    );
  });
});
