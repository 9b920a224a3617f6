import { z } from "zod";

const written = {
  role: z
    .string()
    .describe(
      "What it is, such as `start-gate` or `launcher-codex`. Each client has roles of its own.",
    ),
  resource: z.string().describe("Name of its resource in the stack."),
  partOf: z
    .string()
    .describe(
      "Name of the resource that it belongs to: of a client, a service, the machine itself.",
    ),
  purpose: z
    .string()
    .describe("What it is for, in a sentence; empty where an earlier version did not say."),
  path: z.string(),
};

export const fileSchema = z
  .object({
    ...written,
    here: z
      .literal(true)
      .exactOptional()
      .describe("Set where it is written on the computer that runs this instead."),
    mode: z.string().describe("Octal, such as `0644`."),
    text: z.string().describe("Its content."),
  })
  .meta({ id: "File", description: "A file that will be written on the machine." });

export const secretFileSchema = z
  .object({
    ...written,
    mode: z.literal("0600"),
    variable: z.string().describe("Name of the variable whose value is its content."),
    isKey: z
      .literal(true)
      .exactOptional()
      .describe("Set where it is a key that clients send: a weak one is refused."),
  })
  .meta({
    id: "SecretFile",
    description: "A file whose content is the value of a variable of the operator's shell.",
  });
