import { runtime } from "@pulumi/pulumi";

export interface Recorded {
  readonly type: string;
  readonly name: string;
  readonly inputs: Record<string, unknown>;
}

/** Exported at run time, left out of the typings. */
const { waitForRPCs } = runtime as unknown as { waitForRPCs(): Promise<void> };

/**
 * Runs a program under mocks and returns what it registered, in order. No engine and no provider
 * take part.
 */
export async function record(program: () => unknown): Promise<Recorded[]> {
  const recorded: Recorded[] = [];
  await runtime.setMocks(
    {
      newResource: (args) => {
        recorded.push({ type: args.type, name: args.name, inputs: args.inputs });
        return { id: `${args.name}-id`, state: args.inputs };
      },
      call: () => ({}),
    },
    "local-serving",
    "test",
    true,
  );
  await program();
  await waitForRPCs();
  return recorded;
}
