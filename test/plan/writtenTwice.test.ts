import { describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { parseStackFile } from "../../components/settings/load";
import { stackSettings } from "../../components/settings/stackSettings";
import { faultLines } from "../fixtures/faults";
import { serverInput } from "../fixtures/machine";

const evidence = { home: "/home/me" };
const machine = (more: Record<string, unknown> = {}) => ({
  totalGiB: 121.63,
  instanceA: "none",
  inferenceServers: { b: serverInput() },
  clients: { codex: {} },
  ...more,
});

describe("two machines", () => {
  const onOne = (dockerHost: string) => {
    const lines = "totalGiB: 8\n      instanceA: none\n";
    return `config:\n  local-serving:machines:\n    dgx:\n      ${lines}    spark:\n      ${lines}      dockerHost: ${dockerHost}\n`;
  };

  it.each([
    ...["unix:///var/run/docker.sock", "unix:///run/docker.sock", "unix:///var/run/docker.sock/"],
    ...[
      "127.0.0.1",
      "127.1",
      "0x7f000001",
      "localhost",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "me@0.0.0.0",
    ].map((host) => `ssh://${host}`),
  ])("on one Docker engine are refused: the default and %s", (dockerHost) => {
    expect(faultLines(() => parseStackFile("stack", onOne(JSON.stringify(dockerHost))))).toEqual([
      `machines.spark.dockerHost: spark and dgx are on one Docker engine (${dockerHost}), so they are one machine with one memory: put their servers below one of them, or give each its own \`dockerHost\`.`,
    ]);
  });

  it("on two engines pass", () => {
    expect(faultLines(() => parseStackFile("stack", onOne("ssh://me@spark")))).toEqual([]);
  });

  const pair = (dockerHost: string, more: Record<string, unknown> = {}) =>
    faultLines(() =>
      plan(
        stackSettings.parse({ machines: { a: machine(), b: machine({ dockerHost, ...more }) } }),
        evidence,
      ),
    );

  it("of one computer that write one path are refused, by that path", () => {
    expect(pair("unix:///run/user/1000/docker.sock")).toEqual([
      "machines.b: codex-config of b and codex-config of a would both be written to /home/me/.codex/local-serving.config.toml: remove one, or change its folder.",
      "machines.b: launcher-codex of b and launcher-codex of a would both be written to /home/me/.local/bin/local-codex: remove one, or change its folder.",
    ]);
    const launchers = (launcherFolder: string) =>
      pair("unix:///run/user/1000/docker.sock", { clients: { codex: {}, launcherFolder } }).length;
    expect([launchers("~/b"), launchers("/home/me/.local/bin/")]).toEqual([1, 2]);
  });

  it("of two computers may write the same path", () => {
    expect(pair("ssh://me@spark")).toEqual([]);
  });
});
