import { describe, expect, it } from "vitest";
import { styled } from "../../../commandLine/output";
import { watch } from "../../../operate/status/watch";
import { runServing } from "../runServing";

/** Shows these texts, one after another, and then is interrupted. */
async function shown(texts: readonly string[], screen: { isTTY?: boolean } = {}) {
  const written: string[] = [];
  const controller = new AbortController();
  const left = [...texts];
  const look = async () => {
    const text = left.shift();
    if (text === undefined) controller.abort("SIGINT");
    return text ?? "";
  };
  const stream = { columns: 10, rows: 4, write: (text: string) => written.push(text), ...screen };
  await watch(look, stream, controller.signal, 0);
  return written;
}

describe("serving status --watch", () => {
  it("draws each screen over the last one, and erases what is left of it", async () => {
    expect(await shown(["one\ntwo", "1"], { isTTY: true })).toEqual([
      "one\u001b[K\ntwo\u001b[K\n\u001b[J",
      "\u001b[2A\r1\u001b[K\n\u001b[J",
    ]);
  });

  it("cuts what is wider or higher than the terminal, whose cursor would be lost", async () => {
    expect(await shown(["0123456789\n0123456789a\n3\n4\n5"], { isTTY: true })).toEqual([
      "0123456789\u001b[K\n012345678…\u001b[K\n3\u001b[K\n\u001b[J",
    ]);
  });

  it("prints one text after another where there is no terminal, without control codes", async () => {
    expect(await shown(["one", "two\u001b[2J"])).toEqual(["one\n", "\ntwo\ufffd[2J\n"]);
  });

  it("has no colours of its own: those of the screen stay, and NO_COLOR has none", async () => {
    const [first = ""] = await shown([styled("bold", "dgx")], { isTTY: true });
    expect(first.replace("\u001b[1m", "").replace("\u001b[22m", "")).toBe("dgx\u001b[K\n\u001b[J");
  });

  it("goes with no JSON", async () => {
    expect(await runServing(["status", "--watch", "--format", "json"])).toMatchObject({
      code: 2,
      err: "--watch shows screens until Ctrl-C: leave out --format json.\n",
    });
  });
});
