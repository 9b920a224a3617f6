import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { mustRun } from "../../layers/run";

/** A network of its own, in which a test's Docker, llama-swap and servers live. */
export interface OwnNetwork {
  /** Its namespace. */
  readonly path: string;
  /** Its address, reached from here. */
  readonly address: string;
  close(): Promise<void>;
}

export async function makeNetwork(): Promise<OwnNetwork> {
  const holder = spawn("unshare", ["--net", "sleep", "infinity"], { stdio: "ignore" });
  const pid = String(holder.pid);
  const path = `/proc/${pid}/ns/net`;
  // A network of four addresses, so that no other test's is in it.
  const [net, block] = [randomInt(1, 255), randomInt(0, 63) * 4];
  const [here, address] = [`10.214.${net}.${block + 1}`, `10.214.${net}.${block + 2}`];
  const link = `od${net}x${block}`;
  const close = () => ended(holder);
  try {
    await isApart(path);
    await mustRun("ip", ["link", "add", link, "type", "veth", "peer", "name", "up0", "netns", pid]);
    await mustRun("ip", ["address", "add", `${here}/30`, "dev", link]);
    await mustRun("ip", ["link", "set", link, "up"]);
    const inside = (...words: string[]) => mustRun("nsenter", [`--net=${path}`, "ip", ...words]);
    await inside("address", "add", `${address}/30`, "dev", "up0");
    await inside("link", "set", "up0", "up");
    await inside("link", "set", "lo", "up");
  } catch (error) {
    await close();
    throw error;
  }
  return { path, address, close };
}

/** Until `unshare` has done it, the process is in this network. */
async function isApart(path: string): Promise<void> {
  const ours = await mustRun("readlink", ["/proc/self/ns/net"]);
  while ((await mustRun("readlink", [path])) === ours) await sleep(20);
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.kill("SIGKILL");
  });
}
