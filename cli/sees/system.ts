import { defined } from "@local-serving/base/faults/defined";
import { readBootId } from "@local-serving/machines/bootId";
import { engineVersion } from "@local-serving/machines/docker/engine";
import { type Files, filesOf } from "@local-serving/machines/files";
import * as z from "zod";
import { readKernel } from "../../components/supply";

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
