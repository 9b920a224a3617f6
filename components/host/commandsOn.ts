import type { ResourceTransformation } from "@pulumi/pulumi";
import { isOverSsh } from "../../machines/address";
import { type CommandPlace, sshTo } from "../../machines/onMachine";
import { shellWord, shellWords } from "../../machines/shell";

/**
 * Lets every command below a component run on its machine; for one that is here nothing changes.
 * Over ssh the command's variables are set there, and its stdin goes there. One that moves to
 * another machine is undone where it was.
 */
export function commandsOn(machine: CommandPlace): { transformations?: ResourceTransformation[] } {
  if (!isOverSsh(machine)) return {};
  const ssh = shellWords(sshTo(machine));
  return {
    transformations: [
      ({ type, props, opts }) => {
        if (type !== "command:local:Command") return undefined;
        const { create, delete: remove, environment } = props;
        // It says itself where it runs: here.
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
              // A script is shown once, in what sets it there.
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
