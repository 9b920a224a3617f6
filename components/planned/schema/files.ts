import * as z from "zod";

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
      "Name of the resource that it belongs to: a client, a service, or the machine itself.",
    ),
  purpose: z.string().describe("Its purpose, in a sentence; empty in plans of earlier versions."),
  path: z.string(),
};

export const fileSchema = z
  .object({
    ...written,
    here: z
      .literal(true)
      .exactOptional()
      .describe("Present if it is written on the computer that runs `serving` instead."),
    mode: z.string().describe("Octal, such as `0644`."),
    text: z.string().describe("Its content."),
  })
  .meta({ id: "File", description: "A file that will be written on the machine." });

export const secretFileSchema = z
  .object({
    ...written,
    mode: z.literal("0600"),
    variable: z.string().describe("Name of the variable that holds its content."),
    isKey: z
      .literal(true)
      .exactOptional()
      .describe("Present if it is a key that clients send: a weak key is refused."),
  })
  .meta({
    id: "SecretFile",
    description: "A file whose content is the value of a variable of the operator's shell.",
  });
