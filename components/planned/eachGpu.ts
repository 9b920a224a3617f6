/** What is known of a server whose model is divided among GPUs: its plan, a start, a measurement. */
interface Divided {
  readonly ranks?: number | undefined;
}

/** The number of GPUs that share a server's model; one where nothing else is said. */
export const gpusOf = ({ ranks = 1 }: Divided): number => ranks;

/** GB of weights that each GPU of a server loads; `null` where their size isn't known. */
export const gbOnEachGpu = ({
  weightsGB,
  ...divided
}: Divided & { readonly weightsGB: number | null }): number | null =>
  weightsGB === null ? null : weightsGB / gpusOf(divided);
