import * as http from "@local-serving/base/http/ask";
import { afterAll, beforeAll, type MockInstance, vi } from "vitest";

/**
 * For the tests of the file that calls this, nothing answers on any port: on a machine in use,
 * the ports of a usual plan may be somebody's.
 */
export function nothingAnswers(): void {
  let asked: MockInstance<typeof http.ask>;
  beforeAll(() => {
    asked = vi
      .spyOn(http, "ask")
      .mockRejectedValue(new http.NoAnswer("refused", "nothing listens there"));
  });
  afterAll(() => asked.mockRestore());
}
