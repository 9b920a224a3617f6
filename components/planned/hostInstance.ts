/** Instance A as it is declared. */
export interface HostInstanceFacts {
  readonly port: number;
  readonly gpuMemoryUtilization: number;
  readonly maxModelLen?: number;
  readonly model?: string;
  readonly weightsGB?: number;
}
