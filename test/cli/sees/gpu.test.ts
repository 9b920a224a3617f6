import { describe, expect, it } from "vitest";
import { gpuIn, gpuText, readGpu, whileWatched } from "../../../cli/sees/gpu";

const COOL = "Not Active, Not Active, Not Active";
/** `busy, clock, celsius, watts`, of a GPU whose clock could be 3003 MHz. */
const at = (figures: string, reasons = COOL, capped = "Not Active") => {
  const [busy, clock, celsius, watts] = figures.split(", ");
  return gpuIn(`${[busy, clock, "3003", celsius, watts, capped].join(", ")}, ${reasons}\n`);
};

describe("what nvidia-smi says of a GPU", () => {
  it("is its figures where nothing holds it back", () => {
    const state = at("96, 2405, 71, 58.20");
    expect(state).toEqual({
      busy: 0.96,
      clockMHz: 2405,
      maxClockMHz: 3003,
      celsius: 71,
      watts: 58.2,
      slowedBy: null,
      atPowerLimit: false,
    });
    expect(state && gpuText(state)).toBe("GPU 96 % busy, 2405 of 3003 MHz, 71 °C, 58.2 W");
  });

  it("says that its limit of power holds it, which is no fault", () => {
    const state = at("99, 1980, 61, 350.00", COOL, "Active");
    expect(state?.slowedBy).toBeNull();
    expect(state && gpuText(state)).toMatch(/, 350\.0 W, at its power limit$/);
  });

  it.each([
    ["96, 870, 62, 31.4", COOL, "a state of low power (busy, but its clock is below 900 MHz)"],
    ["90, 899, 62, 31.4", COOL, "a state of low power (busy, but its clock is below 900 MHz)"],
    ["90, 900, 62, 31.4", COOL, null],
    ["89, 208, 45, 8.1", COOL, null],
    ["96, 870, 92, 31.4", "Active, Not Active, Not Active", "heat (the hardware's own limit)"],
    ["12, 2405, 92, 31.4", "Not Active, Active, Not Active", "heat (the driver's limit)"],
    ["12, 2405, 50, 31.4", "Not Active, Not Active, Active", "the power supply (power brake)"],
    [
      "12, 2405, 92, 31.4",
      "Active, Active, Not Active",
      "heat (the hardware's own limit), heat (the driver's limit)",
    ],
  ])("%s with %s is held back by what it says", (figures, reasons, slowedBy) => {
    expect(at(figures, reasons)?.slowedBy).toBe(slowedBy);
  });

  it("takes what a driver doesn't know for no figure", () => {
    const state = gpuIn("[N/A], [N/A], [N/A], 45, [Not Supported], [N/A], [N/A], [N/A], [N/A]\n");
    const nothing = {
      busy: null,
      clockMHz: null,
      maxClockMHz: null,
      celsius: null,
      watts: null,
      slowedBy: null,
      atPowerLimit: null,
    };
    expect(state).toEqual({ ...nothing, celsius: 45 });
    expect(state && gpuText(state)).toBe("GPU 45 °C");
    expect(gpuText(nothing)).toBe("GPU gives no figures");
  });

  it("is nothing where it says something else, or fails", async () => {
    for (const text of ["", "No devices were found\n", "1, 2, 3\n"])
      expect(gpuIn(text)).toBeUndefined();
    const failing = async () => ({ code: 127, out: "", err: "not found" });
    expect(await readGpu({ ask: failing })).toBeUndefined();
    const asked: (readonly string[])[] = [];
    const answering = async (words: readonly string[]) => {
      asked.push(words);
      return { code: 0, out: `1, 2, 3, 4, 5, Not Active, ${COOL}\n`, err: "" };
    };
    expect((await readGpu({ ask: answering }))?.clockMHz).toBe(2);
    expect(asked).toEqual([
      [
        "nvidia-smi",
        "--query-gpu=utilization.gpu,clocks.sm,clocks.max.sm,temperature.gpu,power.draw,clocks_event_reasons.sw_power_cap,clocks_event_reasons.hw_thermal_slowdown,clocks_event_reasons.sw_thermal_slowdown,clocks_event_reasons.hw_power_brake_slowdown",
        "--format=csv,noheader,nounits",
      ],
    ]);
  });
});

describe("a GPU that is watched while something is measured", () => {
  const line = (busy: number, clock: number, heat = "Not Active") =>
    `${busy}, ${clock}, 3003, 60, 40, Not Active, ${heat}, Not Active, Not Active\n`;
  const watched = async (...lines: readonly string[]) => {
    const left = [...lines];
    let asked = 0;
    const ask = async () => ({ code: left.length > 0 ? 0 : 9, out: left.shift() ?? "", err: "" });
    let end = (): void => undefined;
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    const host = {
      ask: () => {
        if (++asked > lines.length) end();
        return ask();
      },
    };
    return whileWatched(host, () => over.then(() => "done"), 1);
  };

  it("is shown where it was slowest while it worked", async () => {
    const { result, gpu } = await watched(line(96, 2405), line(96, 1800), line(3, 208));
    expect([result, gpu?.clockMHz]).toEqual(["done", 1800]);
  });

  it("is shown where it was held back, whatever its clock was later", async () => {
    const { gpu } = await watched(line(96, 1900, "Active"), line(96, 1800));
    expect(gpu?.slowedBy).toBe("heat (the hardware's own limit)");
  });

  it("says nothing where it did not work, where nobody tells, or where all was over before", async () => {
    expect(await watched(line(3, 208))).toEqual({ result: "done" });
    expect(await watched()).toEqual({ result: "done" });
    const never = { ask: () => Promise.reject(new Error("asked")) };
    expect(await whileWatched(never, async () => 1)).toEqual({ result: 1 });
  });
});
