import { styled } from "@local-serving/base/commandLine/output";
import { Failed } from "@local-serving/base/faults/fault";
import { describe, expect, it } from "vitest";
import { watch } from "../../../cli/status/watch";
import { runServing } from "../runServing";

/** Shows these texts, one after another, and then is interrupted. */
async function shown(
  texts: readonly (string | Failed)[],
  screen: Partial<Parameters<typeof watch>[1]> = {},
) {
  const written: string[] = [];
  const controller = new AbortController();
  const left = [...texts];
  const look = async () => {
    const text = left.shift();
    if (text === undefined) controller.abort("SIGINT");
    if (text instanceof Failed) throw text;
    return text ?? "";
  };
  const stream = { columns: 10, rows: 4, write: (text: string) => written.push(text), ...screen };
  await watch(look, stream, controller.signal, { every: 0, late: 5000 });
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
    expect(await shown(["0123456789\n0123456789a\n3"], { isTTY: true })).toEqual([
      "0123456789\u001b[K\n012345678…\u001b[K\n3\u001b[K\n\u001b[J",
    ]);
    expect(await shown(["1\n2\n3\n4\n5"], { isTTY: true })).toEqual([
      "1\u001b[K\n2\u001b[K\n… 3 more …\u001b[K\n\u001b[J",
    ]);
  });

  it("goes on below, at a space, with a line that is too long", async () => {
    const text = `${styled("red", "  one two three")}\n4`;
    expect(await shown([text], { isTTY: true })).toEqual([
      "  one two\u001b[K\n    three\u001b[K\n4\u001b[K\n\u001b[J",
    ]);
    const long = ["  b  waits for memory since then"];
    expect(await shown(long, { isTTY: true, columns: 12, rows: 9 })).toEqual([
      "  b  waits\u001b[K\n    for\u001b[K\n    memory\u001b[K\n    since\u001b[K\n    then\u001b[K\n\u001b[J",
    ]);
  });

  it("begins anew in a window of another size", async () => {
    const written: string[] = [];
    const write = (text: string) => written.push(text);
    const screen = { isTTY: true, columns: 10, write };
    const controller = new AbortController();
    const look = async () => {
      if (written.length === 1) screen.columns = 11;
      if (written.length === 2) controller.abort("SIGINT");
      return "one";
    };
    await watch(look, screen, controller.signal, { every: 0, late: 5000 });
    expect(written).toEqual(["one\u001b[K\n\u001b[J", "\u001b[H\u001b[Jone\u001b[K\n\u001b[J"]);
  });

  it("says what failed and goes on; the first look must succeed", async () => {
    const failing = new Failed("dgx can't be reached.");
    expect(await shown(["one", failing, "two"])).toEqual([
      "one\n",
      "\ndgx can't be reached.\n",
      "\ntwo\n",
    ]);
    await expect(shown([failing])).rejects.toBe(failing);
  });

  it("says which screen is old while a look has no end", async () => {
    const written: string[] = [];
    const controller = new AbortController();
    let looks = 0;
    const write = (text: string) => {
      written.push(text);
      if (text.includes("No answer")) controller.abort("SIGINT");
    };
    const look = () => {
      looks += 1;
      return looks === 1 ? Promise.resolve("dgx") : new Promise<string>(() => {});
    };
    const pace = { every: 0, late: 1 };
    await watch(look, { isTTY: true, write }, controller.signal, pace);
    expect(written).toEqual([
      "dgx\u001b[K\n\u001b[J",
      "\u001b[1A\rdgx\u001b[K\nNo answer for 0.001 s: this is what was seen before.\u001b[K\n\u001b[J",
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
