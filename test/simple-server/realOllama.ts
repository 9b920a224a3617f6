import { createHash } from "node:crypto";
import type { MachinePlan } from "../../components/plan/types";

/** The variables of the planned drop-in, as systemd hands them to the service. */
export function dropInVariables(machine: MachinePlan): Record<string, string> {
  const text = machine.files.find((file) => file.role === "simple-server-dropin")?.text ?? "";
  return Object.fromEntries(
    [...text.matchAll(/^Environment="([A-Z_]+)=(.*)"$/gm)].map(([, name = "", value = ""]) => [
      name,
      value.replace(/\\(.)/g, "$1").replaceAll("%%", "%"),
    ]),
  );
}

/** Gives a running Ollama a model of this name, and returns what Ollama said of it. */
export async function createSmallestModel(
  baseUrl: string,
  name: string,
  template?: string,
): Promise<string> {
  const model = smallestModel();
  const digest = `sha256:${createHash("sha256").update(model).digest("hex")}`;
  await fetch(`${baseUrl}/api/blobs/${digest}`, { method: "POST", body: model });
  const body = JSON.stringify({ model: name, files: { [`${name}.gguf`]: digest }, template });
  return (await fetch(`${baseUrl}/api/create`, { method: "POST", body })).text();
}

/** The smallest file that Ollama takes for a model: a GGUF with an architecture and no tensor. */
function smallestModel(): Buffer {
  const text = (value: string) => {
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(value.length));
    return Buffer.concat([length, Buffer.from(value)]);
  };
  const header = Buffer.alloc(20);
  header.writeUInt32LE(3, 0);
  header.writeBigUInt64LE(1n, 12);
  const TEXT = Buffer.from([8, 0, 0, 0]);
  const model = Buffer.concat([
    Buffer.from("GGUF"),
    header,
    text("general.architecture"),
    TEXT,
    text("llama"),
  ]);
  return Buffer.concat([model, Buffer.alloc((32 - (model.length % 32)) % 32)]);
}
