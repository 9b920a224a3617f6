import * as z from "zod";

const text = () => z.string().min(1);
const sourced = z.strictObject({ what: text(), source: text(), date: z.iso.date() });

/** What a machine shows of itself by which a device is recognised; all that is named must match. */
const sign = z.strictObject({
  gpu: text().optional(),
  smiMemory: z.boolean().optional(),
  tree: text().optional(),
  dmi: text().optional(),
  nvidia: z.literal(false).optional(),
});

const plannedAs = z.enum(["seen", "unseen", "no"]);

/** MemTotal of the machines of a device that have as much memory, in GiB. */
const size = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9-]*$/),
  oneOf: text().optional(),
  planned: plannedAs.optional(),
  fromGiB: z.number().positive(),
  toGiB: z.number().positive(),
  source: text(),
  date: z.iso.date(),
  suggests: z.strictObject({ model: text(), source: text(), date: z.iso.date() }).optional(),
});

const device = z.strictObject({
  id: z.string().regex(/^[a-z][a-z0-9-]*$/),
  name: text(),
  oneOf: text(),
  siblings: z.array(text()).optional(),
  maker: z.literal("NVIDIA").optional(),
  architecture: z.literal("aarch64").optional(),
  planned: plannedAs,
  recognisedBy: z.array(sign).min(1),
  sizes: z.array(size).min(1).optional(),
  seen: z.array(sourced),
  warnings: z.array(sourced).optional(),
});

/** devices.json. A test holds the file against it, so that no start of a program has to. */
export const devicesSchema = z.strictObject({
  $comment: z.string(),
  devices: z.array(device).min(1),
});

export type Device = z.output<typeof device>;
export type DeviceSign = z.output<typeof sign>;
export type DeviceSize = z.output<typeof size>;
