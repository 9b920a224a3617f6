import { runShown } from "@local-serving/base/commandLine/run";

const INSTALL = ["npm", "install", "--no-audit", "--no-fund"] as const;

/** How packages come into a folder: what is to be mended, and what is still to be run there. */
export interface Installed {
  readonly mend: readonly string[];
  readonly next: readonly string[];
}

/** Installs what a folder pins. What npm prints goes to stderr, since a result may be JSON. */
export async function installIn(folder: string): Promise<Installed> {
  const [program, ...args] = INSTALL;
  const code = await runShown([program, ...args], { cwd: folder, stdio: ["ignore", 2, 2] }).catch(
    (error: unknown) => String(error),
  );
  if (code === 0) return { mend: [], next: [] };
  const why = typeof code === "number" ? `ended with code ${code}` : `did not start (${code})`;
  return { mend: [`\`npm install\` ${why}: run it again in ${folder}.`], next: ["npm install"] };
}
