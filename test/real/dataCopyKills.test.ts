import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeVolume, killedAt, type Moment, migrated, OLD } from "../machines/copies/fakeVolume";

/** More than any run asks of docker; a moment that no run reaches is one that ends well. */
const CALLS = 20;
const MOMENTS: Moment[] = Array.from({ length: CALLS }, (_, index) => index + 1).flatMap((call) =>
  (["before", "middle", "after"] as const).map((when) => ({ call, when })),
);

describe("a run of the copies' script that is killed at any call of docker", () => {
  it.each(MOMENTS)(
    "leaves old data and whole copies: before an update, $when $call",
    async (at) => {
      const volume = new FakeVolume();
      const data = volume.data();
      await volume.run(["before"], { env: killedAt(at) });
      expect([volume.data(), volume.damaged()]).toEqual([data, []]);
      // Forward: there is a copy. Back: the old container answers.
      await volume.run(["before"]);
      expect([volume.damaged(), volume.names().length > 0, volume.running]).toEqual([
        [],
        true,
        false,
      ]);
      await volume.run(["before"], { image: OLD });
      expect([volume.running, volume.data()]).toEqual([true, data]);
      expect(existsSync(join(volume.copies, ".unfinished"))).toBe(false);
    },
  );

  it.each(MOMENTS)("copies by itself again: serving backup, $when $call", async (at) => {
    const volume = new FakeVolume();
    const data = volume.data();
    await volume.run(["make"], { env: killedAt(at) });
    const { code } = await volume.run(["make"]);
    expect([code, volume.running, volume.data(), volume.damaged()]).toEqual([0, true, data, []]);
  });

  it.each(MOMENTS)("ends on the copy: serving restore, $when $call", async (at) => {
    const { volume, copy, old, newer } = await migrated();
    await volume.run(["put-back", copy, "yes"], { env: killedAt(at) });
    const keeps = () => volume.names().some((name) => volume.about(name).revision === "new");
    expect(volume.data()["webui.db"] === newer["webui.db"] || keeps()).toBe(true);
    const { code } = await volume.run(["put-back", copy, "yes"]);
    expect([code, volume.running, volume.data(), volume.damaged()]).toEqual([0, true, old, []]);
    expect(keeps()).toBe(true);
  });

  it.each(MOMENTS)(
    "ends on data that the old version takes: the way back, $when $call",
    async (at) => {
      const { volume, old } = await migrated();
      await volume.run(["back", OLD], { env: killedAt(at) });
      const { code } = await volume.run(["back", OLD]);
      expect([code, volume.data(), volume.damaged()]).toEqual([0, old, []]);
      expect(volume.names().some((name) => volume.about(name).revision === "new")).toBe(true);
    },
  );

  it.each(MOMENTS)("is finished by an update: serving restore, $when $call", async (at) => {
    const { volume, copy, old, newer } = await migrated();
    await volume.run(["put-back", copy, "yes"], { env: killedAt(at) });
    expect((await volume.run(["before"], { image: OLD })).code).toBe(0);
    expect([old, newer]).toContainEqual(volume.data());
    expect(volume.damaged()).toEqual([]);
  });
});
