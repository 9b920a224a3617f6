import type { ServerArguments } from "./serverArguments";

/** Options that divide a model's weights among GPUs. */
const DIVIDING = ["tensor-parallel-size", "pipeline-parallel-size"];

/** The number of GPUs that share a model's weights, by a server's arguments. */
export const gpusSharing = ({ options }: Pick<ServerArguments, "options">): number =>
  DIVIDING.reduce((all, option) => all * (Number(options.get(option)?.[0]) || 1), 1);
