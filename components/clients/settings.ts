import * as z from "zod";
import { optional, strictObject } from "zod";
import { hostPath, oneAddress, textMatching, usual, variableName } from "../planned/fields";
import { codex } from "./codex";
import { CLIENTS } from "./registry";

type Schemas = { [K in (typeof CLIENTS)[number] as K["key"]]: z.ZodOptional<K["settings"]> };

// A map made from a list has lost the types of its keys.
const schemas = Object.fromEntries(
  CLIENTS.map(({ key, settings }) => [key, settings.optional()]),
) as Schemas;

/** The clients that get a configuration and a launcher. One that is left out gets none. */
export const clients = strictObject({
  on: optional(z.enum(["here", "machine"])).describe(
    "Where the clients' files and launchers are written: `here`, on the computer that runs `serving`, or on the `machine`. Default: `here` if the Docker engine is on this computer, else `machine`. Clients on another computer reach the machine by `host`.",
  ),
  host: optional(
    textMatching(/^[a-zA-Z0-9.][a-zA-Z0-9.-]*$/, {
      error: oneAddress("Expected a host name or an IPv4 address, without scheme or port"),
    }),
  )
    .describe(
      "Name or address by which the clients reach the machine. Default: the address that each port is published on; with `on: here` for a machine elsewhere, the name in `dockerHost`. On a network, use a DHCP reservation or an mDNS name: if the address changes, the clients lose the machine without any message.",
    )
    .meta({ examples: ["dgx.local"] }),
  folder: usual("~/.local/share/local-serving/clients", hostPath()).describe(
    "Folder for the clients' files. These files are ours; your own are not touched.",
  ),
  launcherFolder: usual("~/.local/bin", hostPath()).describe(
    "Folder for the launchers (`local-claude`, `local-codex`, ...).",
  ),
  keyVariable: usual("LOCAL_SERVING_API_KEY", variableName()).describe(
    "NAME of the variable that clients take their key from. If it is unset, the launcher sets a placeholder: the servers ignore the value, but the clients insist on one.",
  ),
  ...schemas,
})
  .prefault({})
  .describe("Client programs that get a configuration and a launcher.");

export type ClientsSettings = z.output<typeof clients>;

/**
 * Returns the clients as another computer gets them. Their files go into the usual folders here,
 * since other folders are the machine's.
 */
export function clientsElsewhere(own: ClientsSettings, host: string | undefined): ClientsSettings {
  const { folder, launcherFolder } = clients.parse({});
  const usualHome = own.codex && { ...own.codex, home: codex.settings.parse({}).home };
  return { ...own, on: "here", host, folder, launcherFolder, codex: usualHome };
}
