import { connect, createServer, type Server, type Socket } from "node:net";

const DAEMON = "/var/run/docker.sock";

/** A socket that passes everything on to the Docker daemon, until it is told to be gone. */
export class DaemonProxy {
  private server: Server | undefined;
  private readonly open = new Set<Socket>();
  private goneAt: string | undefined;

  constructor(readonly path: string) {}

  start(): Promise<void> {
    this.goneAt = undefined;
    const server = createServer((client) => this.pass(client));
    this.server = server;
    return new Promise((resolve) => server.listen(this.path, resolve));
  }

  /** The daemon goes the moment a request holds these words, before it sees the request. */
  goneAtRequest(words: string): void {
    this.goneAt = words;
  }

  async stop(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    for (const socket of this.open) socket.destroy();
    if (server !== undefined) await new Promise((resolve) => server.close(resolve));
  }

  private pass(client: Socket): void {
    const daemon = connect(DAEMON);
    for (const socket of [client, daemon]) {
      this.open.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        this.open.delete(socket);
        client.destroy();
        daemon.destroy();
      });
    }
    daemon.pipe(client);
    client.on("data", (bytes: Buffer) => {
      if (this.goneAt !== undefined && bytes.includes(this.goneAt)) void this.stop();
      else daemon.write(bytes);
    });
  }
}
