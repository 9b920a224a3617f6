import { shellWord, shellWords } from "@local-serving/base/faults/shellWords";
import { isOverSsh } from "@local-serving/machines/address";
import { type CommandPlace, sshTo } from "@local-serving/machines/onMachine";
import type { ResourceTransformation } from "@pulumi/pulumi";

/**
 * Runs every command below a component on its machine. Nothing changes for a machine that is here.
 * Over ssh, the command's variables and stdin go to the machine. A command that moves to another
 * machine is undone where it was.
 */
export function commandsOn(machine: CommandPlace): { transformations?: ResourceTransformation[] } {
  if (!isOverSsh(machine)) return {};
  const ssh = shellWords(sshTo(machine));
  return {
    transformations: [
      ({ type, props, opts }) => {
        if (type !== "command:local:Command") return undefined;
        const { create, delete: remove, environment } = props;
        // This command says itself that it runs here.
        if ("MACHINE" in environment) return undefined;
        const given = Object.entries<string>(environment);
        const there = (command: unknown) =>
          command === undefined ? undefined : `${ssh} "$ON_MACHINE"${shellWord(`${command}`)}`;
        return {
          props: {
            ...props,
            create: there(create),
            delete: there(remove),
            environment: {
              // A preview shows a script once, where it is set.
              ...Object.fromEntries(given.filter(([, value]) => !value.includes("\n"))),
              MACHINE: machine.dockerHost,
              ON_MACHINE: given
                .map(([name, value]) => `export ${name}=${shellWord(value)}\n`)
                .join(""),
            },
          },
          opts: {
            ...opts,
            replaceOnChanges: [...(opts.replaceOnChanges ?? []), "environment.MACHINE"],
          },
        };
      },
    ],
  };
}
