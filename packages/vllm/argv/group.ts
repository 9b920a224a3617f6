import { isOn, type ServerArguments } from "./serverArguments";
import { isText } from "./unknown";

/** The processes on several machines that share a model, and a server's place among them. */
export interface Group {
  readonly index: string;
  readonly nodes: string;
  /** Where they meet: the address of the first. */
  readonly address: string;
  readonly meetsAt: string;
  readonly port: number;
  readonly headless: boolean;
}

/**
 * The group that a server joins by its arguments, or `undefined` if it runs on a single machine.
 * Arguments that are left out have vLLM's defaults.
 */
export function groupOf(server: ServerArguments): Group | undefined {
  const value = (option: string, byDefault: string) => {
    const word = server.options.get(option)?.[0] ?? byDefault;
    return isText(word) ? word : "not known yet";
  };
  const [nodes, index] = [value("nnodes", "1"), value("node-rank", "0")];
  if (nodes === "1" && index === "0") return undefined;
  const [address, port] = [value("master-addr", "127.0.0.1"), value("master-port", "29501")];
  const headless = isOn(server, "headless");
  return { index, nodes, address, meetsAt: `${address}:${port}`, port: Number(port), headless };
}
