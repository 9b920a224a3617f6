import { describe, expect, it } from "vitest";
import { TYPE } from "../../../components/planned/type";
import { bridge } from "../../../components/services/bridge/service";
import { chatUi } from "../../../components/services/chat-ui/service";
import {
  container,
  DIGEST,
  declared,
  IMAGE,
  record,
  said,
  server,
  UNKNOWN_TEXT,
  verdictsOf,
} from "../declared";

describe("moving-tag", () => {
  const RULE = "moving-tag";
  it.each([
    ["vllm/vllm-openai:nightly", "its tag `nightly` moves"],
    ["vllm/vllm-openai:latest", "its tag `latest` moves"],
    ["vllm/vllm-openai", "it has no tag, which means `latest`"],
    ["ghcr.io/berriai/litellm:main-latest", "its tag `main-latest` moves"],
    ["ghcr.io/open-webui/open-webui:main", "its tag `main` moves"],
    ["ghcr.io/open-webui/open-webui:cuda", "its tag `cuda` moves"],
    ["ollama/ollama", "has no tag"],
    ["vllm/vllm-openai:custom", "its tag `custom` moves"],
    ["ghcr.io/berriai/litellm:main-v1.103.0", "its tag `main-v1.103.0` moves"],
    ["ghcr.io/berriai/litellm:Main-v1.103.0", "its tag `Main-v1.103.0` moves"],
  ])("refuses %s", (image, why) => {
    const messages = said(RULE, [container("x", { image })]);
    expect(messages).toHaveLength(1);
    expect(messages[0]).toContain(why);
    expect(messages[0]).toMatch(
      /^refused: The image of x can change by itself: .*<release>@sha256:\.\.\.`\. It is `/,
    );
  });

  it.each([
    ["a release", "ghcr.io/berriai/litellm:v1.103.0"],
    ["a release that is called stable", "ghcr.io/berriai/litellm:v1.103.0-stable"],
    ["a track with a digest", `vllm/vllm-openai:nightly@${DIGEST}`],
    ["an unrelated image", "nginx:latest"],
    [
      "a router of the project that makes vLLM",
      "ghcr.io/vllm-project/semantic-router/vllm-sr:latest",
    ],
    ["an unknown image", UNKNOWN_TEXT],
  ])("passes: %s", (_, image) => expect(said(RULE, [container("x", { image })])).toEqual([]));

  it("passes a server's image in which something else runs", () => {
    const image = "vllm/vllm-openai:latest";
    expect(said(RULE, [container("x", { image, entrypoints: ["hf", "download", "m"] })])).toEqual(
      [],
    );
    expect(said(RULE, [container("x", { image, entrypoints: ["/start.sh"] })])).toHaveLength(1);
  });

  it("takes another level from the configuration", () => {
    const moving = [container("x", { image: "ollama/ollama" })];
    expect(verdictsOf(RULE, moving, { [RULE]: "advisory" })).toMatchObject([
      { level: "advisory", verdict: "warned" },
    ]);
    expect(verdictsOf(RULE, moving, { [RULE]: "disabled" })).toEqual([]);
    expect(verdictsOf(RULE, moving, { all: "disabled", [RULE]: "mandatory" })).toMatchObject([
      { verdict: "refused" },
    ]);
  });
});

describe("what a container of ours runs", () => {
  /** A container below a component of ours, as the engine names it. */
  const below = (component: string, image: string) => {
    const types = `${TYPE.machine}$${component}$${TYPE.containerService}$${TYPE.container}`;
    return container("x", { image }, { urn: `urn:pulumi:dgx::local-serving::${types}::x` });
  };

  it.each([
    [
      bridge.component,
      "mirror.local/gateway:latest",
      "moving-tag",
      /^refused: The image of x can change by itself: its tag `latest` moves\./,
    ],
    [
      chatUi.component,
      "mirror.local/ui",
      "moving-tag",
      /^refused: The image of x can change by itself: it has no tag, which means `latest`\./,
    ],
    [
      bridge.component,
      `mirror.local/gateway:v1.82.7@${DIGEST}`,
      "deny-list",
      /holds litellm 1\.82\.7, which must not run\./,
    ],
    [
      bridge.component,
      `mirror.local/open-webui:v1.82.7@${DIGEST}`,
      "deny-list",
      /holds litellm 1\.82\.7, which must not run\./,
    ],
    [
      TYPE.inferenceServer,
      "mirror.local/thing:v1",
      "inference-image",
      /^refused: x's image isn't pinned: its tag `v1` moves\. .* It has no digest\./,
    ],
  ])("is told by what declares it: %s with %s", (component, image, rule, message) => {
    expect(said(rule, [below(component, image)])).toEqual([expect.stringMatching(message)]);
    // The same image in a container made by hand says nothing.
    if (!image.includes("open-webui")) expect(said(rule, [container("x", { image })])).toEqual([]);
  });

  it("is told by the plan, which has no URNs", () => {
    const planned = container("x", { image: "mirror.local/gateway:latest" }, { role: "bridge" });
    expect(said("moving-tag", [planned])).toHaveLength(1);
  });

  it("is told by the image's name where nobody declares it", () => {
    expect(said("moving-tag", [container("x", { image: "ghcr.io/berriai/litellm" })])).toHaveLength(
      1,
    );
    const above = container(
      "x",
      { image: "mirror.local/gateway" },
      { urn: `urn:pulumi:a::b::${TYPE.container}::x` },
    );
    expect(said("moving-tag", [above])).toEqual([]);
  });

  it.each([
    ["ollama/ollama@sha256:abc", "its digest is not `sha256:` with 64 hex digits in small letters"],
    ["ghcr.io/berriai/LiteLLM:v1.103.0", "its repository has capitals"],
    ["ghcr.io//litellm:v1.103.0", "a part of its name is empty"],
    ["ghcr.io/berriai/litellm:v1.103.0 ", "it has a blank or a control character"],
  ])("is no image: %s", (image, why) => {
    expect(said("moving-tag", [container("x", { image })])).toEqual([
      `refused: The image of x is none: ${why}. Write it as \`repository:<release>@sha256:...\`. It is \`${image}\`.`,
    ]);
  });

  it("is left alone where an unrelated container has such an image", () => {
    expect(said("moving-tag", [container("x", { image: "own/NGINX" })])).toEqual([]);
  });
});

describe("deny-list", () => {
  const RULE = "deny-list";
  it.each(["v1.82.7", "main-v1.82.7-stable", "1.82.8", `v1.82.8@${DIGEST}`])(
    "refuses litellm:%s",
    (tag) => {
      const messages = said(RULE, [
        container("bridge", { image: `ghcr.io/berriai/litellm:${tag}` }),
      ]);
      expect(messages).toHaveLength(1);
      expect(messages[0]).toMatch(/^refused: bridge's image holds litellm /);
    },
  );

  it.each(["v1.82.6", "v1.82.70", "main-v1.83.14-stable.patch.1", "v1.83.99"])(
    "refuses litellm:%s for its holes",
    (tag) => {
      const messages = said(RULE, [
        container("bridge", { image: `ghcr.io/berriai/litellm:${tag}` }),
      ]);
      expect(messages).toHaveLength(1);
      expect(messages[0]).toMatch(/^refused: bridge's image holds litellm /);
    },
  );

  it("refuses an Ollama in a container below 0.17.1", () => {
    const image = (tag: string) => said(RULE, [container("x", { image: `ollama/ollama:${tag}` })]);
    expect(image("0.17.0")).toEqual([
      "refused: x's image holds ollama 0.17.0, which must not run. Update it to 0.17.1 or newer, as it was installed. The cause: releases below 0.17.1 have a vulnerability that is open to anyone who can reach their port (CVE-2026-7482). It is `ollama/ollama:0.17.0`.",
    ]);
    expect(image("0.17.1")).toEqual([]);
  });

  it("refuses the variable that opens vLLM's routes for developers", () => {
    const set = (value: string) =>
      said(RULE, [container("x", { image: IMAGE, envs: [`VLLM_SERVER_DEV_MODE=${value}`] })]);
    expect(set("1")).toHaveLength(1);
    expect(set("1")[0]).toMatch(
      /^refused: x sets VLLM_SERVER_DEV_MODE, which is refused\. Remove it; to free the memory, stop the server instead of `\/sleep`\./,
    );
    expect(set("0")).toEqual([]);
  });

  const DOORS = [
    ...[
      "VLLM_SERVER_DEV_MODE",
      "VLLM_ALLOW_INSECURE_SERIALIZATION",
      "VLLM_ALLOW_RUNTIME_LORA_UPDATING",
    ],
    ...["VLLM_MODEL_REDIRECT_PATH", "VLLM_PLUGINS", "VLLM_TORCH_PROFILER_DIR"],
  ];
  const held = (name: string, text: string): readonly [string, Record<string, unknown>][] => [
    ["a variable", { envs: [`${name}=${text}`] }],
    ["an entrypoint", { entrypoints: ["env", `${name}=${text}`, "vllm", "serve"] }],
    ["env", { command: ["env", `${name}=${text}`, "vllm", "serve", "m"] }],
    ["a shell", { command: ["sh", "-c", `${name}=${text} exec vllm serve m`] }],
    [
      "an export in a shell",
      { entrypoints: ["bash", "-c"], command: [`export ${name}="${text}"; vllm serve m`] },
    ],
    [
      "an export behind others",
      { command: ["sh", "-c", `export A=1 ${name}='${text}' && vllm serve m`] },
    ],
    [
      "a health check's shell",
      { healthcheck: { tests: ["CMD-SHELL", `${name}=${text} vllm serve m &`] } },
    ],
    [
      "a health check's words",
      { healthcheck: { tests: ["CMD", "env", `${name}=${text}`, "vllm", "serve"] } },
    ],
    [
      "an uploaded file",
      {
        uploads: [{ file: "/s", content: `#!/bin/sh\nexport ${name}=${text}\nexec vllm serve m` }],
      },
    ],
  ];

  it.each(DOORS)("refuses %s wherever it is set", (name) => {
    for (const [where, props] of held(name, "x1")) {
      const messages = said(RULE, [server(props)]);
      expect(messages, where).toHaveLength(1);
      expect(messages[0], where).toContain(`b sets ${name}, which is refused. `);
    }
    for (const [where, props] of held(name, "0"))
      expect(said(RULE, [server(props)]), where).toEqual([]);
    const other = {
      envs: [`MY_${name}=1`, `A=${name}`],
      command: ["sh", "-c", `echo $${name}; echo ${name}`],
    };
    expect(said(RULE, [server(other)])).toEqual([]);
  });

  it.each([
    ["--enable-sleep-mode"],
    ["--enable_sleep_mode"],
    ["--enable-sleep"],
    ["--sleep-mode-backend", "cumem"],
    ["--sleep_mode_backend=x"],
    ["--sleep-mode-offload-cudagraph"],
    ["--sleep-preserve-parameter-names", "a", "b"],
    ["--profiler-config", '{"profiler":"torch"}'],
    ["--profiler_config.profiler=torch"],
  ])("refuses %s %s", (...words) => {
    const messages = said(RULE, [server({ command: ["m", ...words] })]);
    expect(messages).toHaveLength(1);
    expect(messages[0]).toMatch(/^refused: b is started with /);
  });

  it.each([
    ["uds", "--uds", "/run/vllm.sock"],
    ["uds", "--uds=/run/vllm.sock"],
    ["ssl-keyfile", "--ssl-keyfile", "/k"],
    ["ssl-keyfile", "--ssl_keyfile=/k"],
    ["ssl-keyfile", "--ssl-k", "/k"],
    ["ssl-certfile", "--ssl_certfile", "/c"],
    ["ssl-ca-certs", "--ssl-ca=/c"],
    ["ssl-cert-reqs", "--ssl-cert-reqs", "2"],
    ["ssl-ciphers", "--ssl-ciphers=HIGH"],
    ["enable-ssl-refresh", "--enable-ssl-refresh"],
    ["enable-ssl-refresh", "--enable_ssl"],
    ["root-path", "--root-path", "/spark"],
    ["root-path", "--root_path=/spark"],
    ["root-path", "--root=/spark"],
    ["grpc", "--grpc"],
    ["tokens-only", "--tokens-only"],
    ["data-parallel-multi-port-external-lb", "--data-parallel-multi-port-external-lb"],
    ["allowed-local-media-path", "--allowed-local-media-path", "/"],
    ["allowed-local-media-path", "--allowed_local_media_path=/srv/images"],
    ["allowed-local-media-path", "--allowed-local", "/"],
    ["middleware", "--middleware", "mine.Guard"],
    ["middleware", "--middle=mine.Guard"],
    ["tool-server", "--tool-server", "demo"],
    ["tool-server", "--tool_server=127.0.0.1:8888"],
    ["trust-request-chat-template", "--trust-request-chat-template"],
    ["trust-request-mm-kwargs", "--trust_request_mm_kwargs"],
    ["enable-prompt-embeds", "--enable-prompt-embeds"],
    ["enable-mm-embeds", "--enable_mm_embeds"],
  ])("refuses what moves or opens a server, --%s, as %s %s", (name, ...words) => {
    const attempts = [
      server({ command: ["m", ...words] }),
      server({ entrypoints: ["vllm", "serve", "m"], command: words }),
      container("b", {
        image: "own/x",
        gpus: "all",
        command: ["sh", "-c", `vllm serve m ${words.join(" ")}`],
      }),
    ];
    for (const attempt of attempts)
      expect(said(RULE, [attempt])).toEqual([
        expect.stringMatching(
          new RegExp(`^refused: b .*is started with --${name}, which is refused\\. Remove it[;,.]`),
        ),
      ]);
  });

  it.each([
    ["--no-enable-ssl-refresh"],
    ["--no-enable-prompt-embeds"],
    ["--disable-mm-embeds"],
    ["--no-trust-request-chat-template"],
    ["--allowed-local-media-path", ""],
    ["--allowed-local-media-path="],
    ["--uds="],
    ["--allowed-media-domains", "upload.wikimedia.org"],
    ["--disable-fastapi-docs"],
    ["--enable-offline-docs"],
    ["--h11-max-header-count", "64"],
    ["--h11-max-incomplete-event-size=65536"],
    ["--allowed-origins", '["http://127.0.0.1:3000"]'],
    ["--allowed-methods", '["GET"]'],
    ["--allow-credentials"],
    ["--enable-request-id-headers"],
    ["--uvicorn-log-level", "warning"],
    ["--disable-uvicorn-access-log"],
    ["--tool-parser-plugin", "/p.py"],
    ["--reasoning-parser-plugin", "/p.py"],
    ["--logits-processors", "mine.Processor"],
    ["--data-parallel-size", "1"],
    ["--api-server-count", "1"],
    ["--host", "0.0.0.0", "--port", "8001"],
    ["--mm-processor-kwargs", "{}"],
  ])("passes what opens and moves nothing: %s %s", (...words) => {
    expect(said(RULE, [server({ command: ["m", ...words] })])).toEqual([]);
  });

  it("passes sleep mode that is off", () => {
    expect(said(RULE, [server({ command: ["m", "--no-enable-sleep-mode"] })])).toEqual([]);
    expect(
      said(RULE, [server({ command: ["m", "--enable-sleep-mode", "--disable-sleep-mode"] })]),
    ).toEqual([]);
  });

  it.each(["v1.84.0", "v1.103.0", "main-latest"])("passes litellm:%s", (tag) => {
    expect(said(RULE, [container("bridge", { image: `ghcr.io/berriai/litellm:${tag}` })])).toEqual(
      [],
    );
  });

  it("refuses what a record says is inside", () => {
    expect(said(RULE, [record({ litellm: "1.82.7" })]).join()).toContain(
      "refused: v030's image holds litellm 1.82.7, which must not run. Take 1.84.0 or newer, and change every key that such a release may have seen.",
    );
    expect(said(RULE, [record({ litellm: "1.82.7+local" })])).toHaveLength(1);
  });

  it("refuses transformers 5.17.0 beside vLLM 0.27 only", () => {
    expect(said(RULE, [record({ vllm: "0.27.1", transformers: "5.17.0" })])).toEqual([
      "refused: v030's image holds transformers 5.17.0, which must not run. Take an image with another transformers, such as 5.14.1, or a newer vLLM. The cause: it breaks vLLM 0.27 (aws/deep-learning-containers pull request 6773).",
    ]);
    expect(said(RULE, [record({ vllm: "0.27.1.dev3+gabc", transformers: "5.17.0" })])).toHaveLength(
      1,
    );
    expect(said(RULE, [record({ vllm: "0.30.0", transformers: "5.17.0" })])).toEqual([]);
    expect(said(RULE, [record({ vllm: "0.27.1", transformers: "5.14.1" })])).toEqual([]);
    expect(said(RULE, [record({ transformers: "5.17.0" })])).toEqual([]);
  });

  it("reads a tag as the release of each package that it speaks of", () => {
    const image = (name: string) =>
      said(RULE, [container("x", { image: name }, { role: "bridge" })]);
    expect(image("mirror.local/vllm:v1.82.7")).toHaveLength(1);
    expect(image("mirror.local/vllm:2.0")).toEqual([]);
  });

  it("leaves unknown and unrelated images alone", () => {
    const others = [UNKNOWN_TEXT, "nginx:1.82.7", IMAGE].map((image) => container("x", { image }));
    expect(said(RULE, others)).toEqual([]);
    expect(said(RULE, [record({ litellm: UNKNOWN_TEXT })])).toEqual([]);
  });
});

describe("transformers-range", () => {
  const RULE = "transformers-range";
  it.each([
    ["0.26.0", "5.5.3"],
    ["0.27.1", "5.17.0"],
    ["0.29.0", "5.10.4"],
    ["0.30.0", "5.10.4"],
    ["0.30.0", "5.11.0rc1"],
    ["0.31.0", "5.17.9"],
    ["0.32.0", "5.19.0"],
    ["0.33.0", "5.16.1"],
  ])("passes vllm %s with transformers %s", (vllm, transformers) => {
    expect(said(RULE, [record({ vllm, transformers })])).toEqual([]);
  });

  it.each([
    ["0.28.0", "5.5.2", ">=5.5.3"],
    ["0.29.0", "5.10.3", ">=5.10.4"],
    ["0.30.0", "5.10.3", ">=5.10.4"],
    ["0.30.0", "5.10.4rc1", ">=5.10.4"],
    ["0.31.0", "5.18.0", ">=5.10.4,<5.18"],
    ["0.32.0", "5.16.0", ">=5.16.1,<5.20"],
    ["0.33.0", "5.21.0", ">=5.16.1,<5.21"],
    ["0.33.1.dev2+gabc", "5.21.0", ">=5.16.1,<5.21"],
  ])("refuses vllm %s with transformers %s", (vllm, transformers, range) => {
    expect(said(RULE, [record({ vllm, transformers })])).toEqual([
      `refused: Transformers ${transformers} doesn't suit vLLM ${vllm} in the image of v030. Pin an image whose two versions belong together: that vLLM asks for ${range}. If the record is wrong, \`serving pin IMAGE:TAG --write\` reads them in the image.`,
    ]);
  });

  it("says when it knows no range", () => {
    expect(said(RULE, [record({ vllm: "0.34.0", transformers: "5.30.0" })]).join()).toMatch(
      /^warned: Transformers 5\.30\.0 in the image of v030 was not checked\. Which range vLLM 0\.34\.0 takes is known of 0\.26 to 0\.33 only\./,
    );
  });

  it("leaves to others what has no version, and containers", () => {
    const none = [
      record({ vllm: "0.31.0" }),
      record({ vllm: "nightly", transformers: "5.1" }),
      server(),
    ];
    expect(said(RULE, none)).toEqual([]);
    for (const versions of [
      { vllm: UNKNOWN_TEXT, transformers: "5.1" },
      { vllm: "0.31.0", transformers: UNKNOWN_TEXT },
      { vllm: "0.31.0", transformers: "newest" },
    ])
      expect(said(RULE, [record(versions)])).toEqual([]);
  });
});

describe("what the three rules leave to others", () => {
  it("a container of ours whose image is not known, and a server's image that is none", () => {
    expect(
      said("moving-tag", [container("x", { image: UNKNOWN_TEXT }, { role: "bridge" })]),
    ).toEqual([]);
    expect(said("moving-tag", [server({ image: "vllm/VLLM-openai:v0.30.0" })])).toEqual([]);
  });

  it("what is no container", () => {
    const image = "ghcr.io/berriai/litellm:v1.82.7";
    expect(said("deny-list", [declared("example:index:Bridge", "x", { image })])).toEqual([]);
  });

  it("a record of another image, but none that names no image", () => {
    const old = { vllm: "0.30.0", transformers: "5.5.0" };
    const ranges = (recordedOf: string) =>
      said("transformers-range", [record(old, "read", { recordedOf })]);
    expect(ranges(`sha256:${"0".repeat(64)}`)).toEqual([]);
    expect(ranges("")).toEqual([
      expect.stringMatching(
        /^refused: Transformers 5\.5\.0 doesn't suit vLLM 0\.30\.0 in the image of v030\./,
      ),
    ]);
    expect(said("transformers-range", [record({ vllm: "0.20.0", transformers: "5.5.0" })])).toEqual(
      [
        "warned: Transformers 5.5.0 in the image of v030 was not checked. Which range vLLM 0.20.0 takes is known of 0.26 to 0.33 only.",
      ],
    );
  });
});

it.each([
  ["moving-tag", { image: "ghcr.io/berriai/LiteLLM:v1.103.0" }, undefined, "bridge.image"],
  [
    "deny-list",
    { image: IMAGE, command: ["m", "--enable-sleep-mode"] },
    "b",
    "inferenceServers.b.extraArgs",
  ],
])("%s names the setting that mends it", (rule, props, key, setting) => {
  const labels = [
    { label: "local-serving.machine", value: "dgx" },
    ...(key === undefined ? [] : [{ label: "local-serving.server", value: key }]),
  ];
  expect(verdictsOf(rule, [container("x", { ...props, labels })])).toMatchObject([
    { path: `machines.dgx.${setting}` },
  ]);
});
