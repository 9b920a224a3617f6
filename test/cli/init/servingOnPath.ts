import { writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { temporaryFolder } from "../../layers/temporaryFolder";

/** The PATH of a shell that has `serving`: commands are then shown by that name. */
export function servingOnPath(): { readonly PATH: string } {
  const folder = temporaryFolder("serving-on-path-");
  writeFileSync(join(folder, "serving"), "#!/bin/sh\n", { mode: 0o755 });
  return { PATH: [folder, process.env.PATH ?? ""].join(delimiter) };
}
