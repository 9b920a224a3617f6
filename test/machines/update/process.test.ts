import { lives, thisProcess } from "@local-serving/machines/update/process";
import { expect, it } from "vitest";

it.each([
  ["itself", {}, true],
  ["one with its number that began at another time", { start: "1" }, false],
  ["one from before the machine was started", { boot: "another" }, false],
  ["one whose number nobody has", { pid: 2 ** 22 + 1 }, false],
  ["one of another computer", { host: "elsewhere.invalid" }, "unknown"],
])("a process knows whether one lives: %s", (_, other, expected) => {
  expect(lives({ ...thisProcess(), ...other })).toBe(expected);
});
