import { SOME_WORDS, UNKNOWN } from "@local-serving/vllm/argv/unknown";
import { describe, expect, it } from "vitest";
import { TYPE } from "../../../components/planned/type";
import {
  asksForGpus,
  displayName,
  launchOf,
  publishedPorts,
  reachesGpus,
  variables,
} from "../../../policies/lib/container";

describe("what a health check runs", () => {
  it.each<[string, unknown, unknown[][]]>([
    ["none is declared", undefined, []],
    ["no words", [], []],
    ["Docker's NONE", ["NONE", "x"], []],
    ["a shell's script", ["CMD-SHELL", "curl x"], [["sh", "-c", "curl x"]]],
    ["a command", ["CMD", "curl", "x"], [["curl", "x"]]],
    ["a command without Docker's word", ["curl", "x"], [["curl", "x"]]],
    ["words that are not known", UNKNOWN, [[SOME_WORDS]]],
  ])("%s", (_, tests, checks) => {
    expect(launchOf({ healthcheck: tests && { tests } }).checks).toEqual(checks);
  });
});

describe("a container asks for GPUs", () => {
  it.each<[Record<string, unknown>, boolean]>([
    [{}, false],
    [{ gpus: "" }, false],
    [{ gpus: UNKNOWN }, true],
    [{ devices: [{ hostPath: "/dev/dri" }] }, false],
    [{ devices: [{ hostPath: "/dev/nvidia0" }] }, true],
    [{ devices: [null, { hostPath: "/dev/dri", permissions: null }] }, false],
    [{ envs: ["NVIDIA_VISIBLE_DEVICES="] }, false],
    [{ envs: ["NVIDIA_VISIBLE_DEVICES=none"] }, false],
    [{ envs: ["NVIDIA_VISIBLE_DEVICES=void"] }, false],
    [{ envs: ["NVIDIA_VISIBLE_DEVICES=all"] }, true],
  ])("with %o: %s", (props, asks) => expect(asksForGpus(props)).toBe(asks));
});

it.each<[Record<string, unknown>, boolean]>([
  [{ gpus: "all" }, true],
  [{}, false],
  [{ privileged: true }, true],
  [{ privileged: UNKNOWN }, true],
  [{ devices: UNKNOWN }, true],
  [{ devices: [{ hostPath: "/dev/dri" }] }, false],
  [{ deviceCgroupRules: ["c 195:* rmw"] }, true],
])("a container may reach GPUs with %o: %s", (props, reaches) =>
  expect(reachesGpus(props)).toBe(reaches),
);

describe("a container's variables", () => {
  it.each<[string, unknown, [string, unknown][]]>([
    [
      "a list",
      ["A=1", "B=a=b", "C=two\nlines", "D", UNKNOWN],
      [
        ["A", "1"],
        ["B", "a=b"],
        ["C", "two\nlines"],
      ],
    ],
    ["an entry without a name", ["=A=1"], []],
    [
      "a map",
      { A: 1, B: UNKNOWN, C: ["x"] },
      [
        ["A", "1"],
        ["B", UNKNOWN],
        ["C", SOME_WORDS],
      ],
    ],
  ])("are read from %s", (_, environment, read) =>
    expect([...variables(environment)]).toEqual(read),
  );
});

it.each([
  ["b", "b-0123abc", "b"],
  ["b", "b-0123abcd", "b-0123abcd"],
  ["b", "b-0123xyz", "b-0123xyz"],
  ["b", "bx-0123abc", "bx-0123abc"],
  ["b", "c-0123abc", "c-0123abc"],
])("a message names the resource %s, whose container is %s, %s", (resource, name, shown) => {
  expect(displayName({ type: TYPE.container, name: resource, props: { name } })).toBe(shown);
});

describe("the paths at which files appear in a container", () => {
  it.each<[string, Record<string, unknown>, unknown[]]>([
    ["none", {}, []],
    [
      "volumes, mounts and uploads",
      {
        volumes: [{ hostPath: "/a", containerPath: "/b" }],
        mounts: [{ source: "/c", target: "/d" }],
        uploads: [{ file: "/e", content: "x" }],
      },
      ["/b", "/d", "/e"],
    ],
    ["another container's", { volumes: [{ fromContainer: "x" }] }, [SOME_WORDS]],
    ["a list that is not known", { mounts: UNKNOWN }, [SOME_WORDS]],
    ["a path that is not known", { volumes: [{ containerPath: UNKNOWN }] }, [UNKNOWN]],
  ])("%s", (_, props, places) => expect(launchOf({ ...props }).places).toEqual(places));

  it("beside its working directory", () => {
    expect(launchOf({ workingDir: "/w" }).workingDir).toBe("/w");
    expect(launchOf({}).workingDir).toBeUndefined();
  });
});

it("a published port that is not known may be any", () => {
  const any = { address: UNKNOWN, port: UNKNOWN, protocol: "tcp" };
  expect(
    publishedPorts({ ports: [UNKNOWN, "80:80", { external: 80, protocol: UNKNOWN }] }),
  ).toEqual([any, any, { address: "0.0.0.0", port: "80", protocol: "tcp" }]);
  expect(publishedPorts({ ports: UNKNOWN })).toBe(UNKNOWN);
});
