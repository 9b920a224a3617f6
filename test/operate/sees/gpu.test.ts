import { describe, expect, it } from "vitest";
import { gpuIn, gpuText, readGpu } from "../../../operate/sees/gpu";

const COOL = "Not Active, Not Active, Not Active";
const at = (figures: string, reasons = COOL) => gpuIn(`${figures}, ${reasons}\n`);

describe("what nvidia-smi says of a GPU", () => {
  it("is its figures where nothing holds it back", () => {
    const state = at("96, 2405, 71, 58.20");
    expect(state).toEqual({
      busy: 0.96,
      clockMHz: 2405,
      celsius: 71,
      watts: 58.2,
      slowedBy: null,
    });
    expect(state && gpuText(state)).toBe("GPU 96 % busy, 2405 MHz, 71 °C, 58.2 W");
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
    const state = at("[N/A], [N/A], 45, [Not Supported]", "[N/A], [N/A], [N/A]");
    expect(state).toEqual({
      busy: null,
      clockMHz: null,
      celsius: 45,
      watts: null,
      slowedBy: null,
    });
    expect(state && gpuText(state)).toBe("GPU 45 °C");
    expect(
      gpuText({ busy: null, clockMHz: null, celsius: null, watts: null, slowedBy: null }),
    ).toBe("GPU gives no figures");
  });

  it("is nothing where it says something else, or fails", async () => {
    for (const text of ["", "No devices were found\n", "1, 2, 3\n"])
      expect(gpuIn(text)).toBeUndefined();
    const failing = async () => ({ code: 127, out: "", err: "not found" });
    expect(await readGpu({ ask: failing })).toBeUndefined();
    const asked: (readonly string[])[] = [];
    const answering = async (words: readonly string[]) => {
      asked.push(words);
      return { code: 0, out: `1, 2, 3, 4, ${COOL}\n`, err: "" };
    };
    expect((await readGpu({ ask: answering }))?.clockMHz).toBe(2);
    expect(asked).toEqual([
      [
        "nvidia-smi",
        "--query-gpu=utilization.gpu,clocks.sm,temperature.gpu,power.draw,clocks_event_reasons.hw_thermal_slowdown,clocks_event_reasons.sw_thermal_slowdown,clocks_event_reasons.hw_power_brake_slowdown",
        "--format=csv,noheader,nounits",
      ],
    ]);
  });
});
