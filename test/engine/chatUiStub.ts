import { type PinnedImage, pinnedImage } from "../docker/image";

export interface ChatUiStub {
  /** Release that its tag names. */
  readonly version: string;
  /** Revision of its database, which it migrates to; its release by default. */
  readonly revision?: string;
  /** What GET /health says. */
  readonly isWell?: boolean;
  /** Name of an upload that it writes as it starts. */
  readonly writes?: string;
}

/**
 * An image that stands for Open WebUI: it keeps its data in the volume with an owner of their own,
 * migrates those of an earlier version when it starts, and ends with an error on those of a later
 * one.
 */
export const chatUiImage = ({
  version,
  revision = version,
  isWell = true,
  writes = "talk",
}: ChatUiStub): Promise<PinnedImage> =>
  pinnedImage({
    programs: {
      bash: program({ revision, isWell, writes }),
      python3: "#!/bin/sh\ncat /data/webui.db\n",
    },
    ...{ entrypoint: ["bash"], command: ["start.sh"] },
    ...{ repository: "open-webui/open-webui", tag: `v${version}` },
  });

const program = ({
  revision,
  isWell,
  writes,
}: Omit<Required<ChatUiStub>, "version">) => `#!/usr/local/bin/node
const fs = require("node:fs");
const [data, own] = ["/app/backend/data", ${JSON.stringify(revision)}];
const database = data + "/webui.db";
const found = fs.existsSync(database) ? fs.readFileSync(database, "utf8") : "";
if (found > own) throw new Error("Can't locate revision " + found);
if (found === "") {
  fs.mkdirSync(data + "/uploads");
  fs.writeFileSync(data + "/uploads/talk", "hello");
  fs.chownSync(data + "/uploads/talk", 1000, 1001);
  fs.chmodSync(data + "/uploads/talk", 0o640);
}
const upload = data + "/uploads/" + ${JSON.stringify(writes)};
if (!fs.existsSync(upload)) fs.writeFileSync(upload, "hello");
fs.writeFileSync(database, own);
process.on("SIGTERM", () => process.exit(0));
const health = ${JSON.stringify(JSON.stringify({ status: isWell }))};
require("node:http")
  .createServer(({ url }, to) => to.end(url === "/health" ? health : fs.readFileSync(database)))
  .listen(8080);
`;
