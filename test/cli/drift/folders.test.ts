import { describe, expect, it } from "vitest";
import { folderDifferences } from "../../../cli/drift/folders";
import { plan } from "../../../components/plan/plan";
import { stack } from "../../fixtures/machine";

/** The container of a server whose folders have these digests. */
function containerWith(digests: Readonly<Record<string, string>>, server: object = {}) {
  const read = (digest: string, adapter: boolean) => ({
    files: adapter
      ? ["adapter_config.json", "adapter_model.safetensors"]
      : ["config.json", "model.safetensors"],
    linksOutside: [],
    ...(adapter ? { adapterConfig: CONFIG } : {}),
    weightsBytes: 1,
    digest,
  });
  const folders = Object.fromEntries(
    Object.entries(digests).map(([path, digest]) => [path, read(digest, path !== "~/merged")]),
  );
  const adapters = ["tone", "legal"].map((name) => ({ name, path: `~/${name}` }));
  const settings = stack({}, { model: { id: "~/merged" }, adapters, ...server });
  const [container] =
    plan(settings, { home: "/home/me", folders: { dgx: folders } }).machines[0]?.containers ?? [];
  if (container === undefined) throw new Error("a server was declared");
  return container;
}

const CONFIG = JSON.stringify({
  ...{ r: 8, lora_alpha: 16, target_modules: ["q_proj"] },
  base_model_name_or_path: "/runs/merged",
});

describe("folders of a server that runs", () => {
  const digests = { "~/merged": "m1", "~/tone": "t1", "~/legal": "l1" };
  const applied = containerWith(digests);

  it("are as they were", () => {
    expect(folderDifferences(applied, containerWith(digests))).toEqual([]);
    expect(folderDifferences(applied, undefined)).toEqual([]);
  });

  it("are named where their files have changed since", () => {
    const now = containerWith({ ...digests, "~/merged": "m2", "~/tone": "t2" });
    const hash = expect.stringMatching(/^[0-9a-f]{12}$/);
    expect(folderDifferences(applied, now)).toEqual([
      {
        what: "the model's folder",
        ...{ planned: hash, found: hash },
        says: "was started with other files than the model's folder has now",
      },
      {
        what: "the folder of the adapter tone",
        ...{ planned: hash, found: hash },
        says: "was started with other files than the folder of the adapter tone has now",
      },
    ]);
  });

  it("are another plan where their paths are others", () => {
    const moved = { adapters: [{ name: "tone", path: "~/legal" }] };
    expect(
      folderDifferences(applied, containerWith({ ...digests, "~/legal": "l2" }, moved)),
    ).toEqual([]);
  });
});
