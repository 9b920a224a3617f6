import { createServer } from "node:net";
import {
  type ListeningSocket,
  readSockets,
  socketsOfProc,
} from "@local-serving/machines/listeners";
import { describe, expect, it } from "vitest";
import { socketsOfSs } from "../../../cli/doctor/read/fromFiles";

const place = ({ address, port }: ListeningSocket) => ({ address, port });

describe("listening sockets", () => {
  it("are read from the kernel's table, connections left out", () => {
    const table = [
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
      "   0: 0100007F:2CAA 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1",
      "   1: 00000000:1F41 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1",
      "   2: 0100007F:1F41 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 3 1",
      "   3: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A 0 0 0 0 0 4 1",
      "   4: 00000000000000000000000001000000:1F91 00000000000000000000000000000000:0000 0A 0 0 0 0 0 5 1",
      "   5: 0000000000000000FFFF00000100007F:1F92 00000000000000000000000000000000:0000 0A 0 0 0 0 0 6 1",
    ].join("\n");
    expect(socketsOfProc(table).map(place)).toEqual([
      { address: "127.0.0.1", port: 11434 },
      { address: "0.0.0.0", port: 8001 },
      { address: "::", port: 8080 },
      { address: "::1", port: 8081 },
      { address: "127.0.0.1", port: 8082 },
    ]);
  });

  it("are read from what ss prints", () => {
    const text = [
      "State  Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess",
      'LISTEN 0      4096       127.0.0.1:11434      0.0.0.0:*    users:(("ollama",pid=1201,fd=3))',
      "LISTEN 0      4096               *:8080             *:*",
      "LISTEN 0      4096            [::]:8000          [::]:*",
      "LISTEN 0      4096   127.0.0.53%lo:53         0.0.0.0:*",
    ].join("\n");
    expect(socketsOfSs(text)).toEqual([
      { address: "127.0.0.1", port: 11434 },
      { address: "::", port: 8080 },
      { address: "::", port: 8000 },
      { address: "127.0.0.53", port: 53 },
    ]);
  });

  it("of this machine have the one that was just opened", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    expect((await readSockets()).map(place)).toContainEqual({ address: "127.0.0.1", port });
    await new Promise((resolve) => server.close(resolve));
  });
});
