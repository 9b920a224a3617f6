import * as z from "zod";
import { readKernel } from "../../components/supply";
import { defined } from "../../faults/defined";
import { readBootId } from "../../machines/bootId";
import { engineVersion } from "../../machines/docker/engine";
import { type Files, filesOf } from "../../machines/files";

/** What a boot or an update of the operating system changes on a machine. */
export const systemSchema = z.object({
  /** Random; Linux makes another one at each boot. */
  bootId: z.string().exactOptional(),
  bootedAt: z.string().exactOptional(),
  kernel: z.string(),
  kernelArguments: z.array(z.string()),
  driver: z.string().exactOptional(),
  docker: z.string().exactOptional(),
  toolkit: z.string().exactOptional(),
});

export type System = z.infer<typeof systemSchema>;

/** Where a machine's system is read. */
interface SystemPlace {
  readonly files?: Pick<Files, "text" | "ask">;
  readonly proc?: string;
}

/** Reads a machine's system, here or over ssh; what can't be read is left out. */
export async function readSystem(
  dockerHost: string,
  { files = filesOf({ dockerHost }), proc = "/proc" }: SystemPlace = {},
): Promise<System> {
  const [kernel, bootId, stat, docker] = await Promise.all([
    readKernel(files, proc),
    readBootId(files, proc),
    files.text(`${proc}/stat`),
    engineVersion(dockerHost).catch(() => undefined),
  ]);
  const [, seconds] = /^btime (\d+)$/m.exec(stat ?? "") ?? [];
  return {
    ...kernel,
    ...defined({
      bootId,
      bootedAt: seconds && new Date(Number(seconds) * 1000).toISOString(),
      docker: docker?.trim() || undefined,
    }),
  };
}
