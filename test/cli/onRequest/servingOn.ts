import { readFileSync } from "node:fs";
import { runServing } from "../runServing";

/** A made-up machine: its stack file, its home, and a stand-in of Docker that keeps what it was asked. */
interface MadeUp {
  readonly file: string;
  readonly home: string;
  readonly docker: { readonly env: Record<string, string>; readonly asked: string };
}

/** Runs a command on a made-up machine; `did` is what it had Docker start, stop or run. */
export async function servingOn({ file, home, docker }: MadeUp, args: readonly string[]) {
  const ran = await runServing([...args, "--file", file], { ...docker.env, HOME: home });
  const plain = (text: string) => text.replaceAll(` --file ${file}`, "");
  const did = readFileSync(docker.asked, "utf8")
    .split("\n")
    .map((line) => line.replace(/^\S* /, ""))
    .filter((line) => /^(start|stop|run) /.test(line));
  return { code: ran.code, out: plain(ran.out), err: plain(ran.err), did };
}
