import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Failed } from "../../commandLine/exit";
import { type Ran, run } from "../../commandLine/run";
import { jsonIn, textOr } from "../../faults/json";
import { lastWords } from "../../faults/lastWords";
import { PACKAGE } from "./pin";

/** Seconds that npm may take to ask its registry, and to install a release. */
const ASK_SECONDS = 60;
const INSTALL_SECONDS = 600;
/** Seconds and characters of a plan. */
const PLAN_SECONDS = 120;
const LARGEST = 4 * 1024 ** 2;

/**
 * The newest release, by the operator's own npm settings. Throws `Failed` where npm knows none, or
 * can't ask.
 */
export async function newestRelease(folder: string): Promise<string> {
  const ran = await npm(["view", PACKAGE, "version", "--json"], folder, ASK_SECONDS);
  const version = textOr(jsonIn(ran.out));
  if (ran.code === 0 && version !== "") return version;
  if (/\bE404\b/.test(`${ran.out}${ran.err}`))
    throw new Failed(
      `npm's registry has no ${PACKAGE}. To install a release from a tarball, run \`npm install TARBALL\` here; UPGRADE.md says what it restarts.`,
    );
  throw new Failed(`npm can't say which release is the newest: ${lastWord(ran)}`);
}

/**
 * What a release itself says that it would change against what is applied, as a review in Markdown;
 * before the first `up` its whole plan. It is installed in a folder of its own, which goes again.
 * Throws `Failed` with npm's words.
 */
export async function planOf(version: string, folder: string, file: string): Promise<string> {
  const own = mkdtempSync(join(tmpdir(), "local-serving-upgrade-"));
  try {
    const spec = `${PACKAGE}@${version}`;
    // What the folder says of its registry.
    const settings = join(folder, ".npmrc");
    if (existsSync(settings)) copyFileSync(settings, join(own, ".npmrc"));
    const install = ["install", "--no-audit", "--no-fund", spec];
    const installed = await npm(install, own, INSTALL_SECONDS);
    if (installed.code !== 0) throw new Failed(`npm can't install ${spec}: ${lastWord(installed)}`);
    const program = join(own, "node_modules", PACKAGE, "bundle/run.cjs");
    // `serving` itself would hand over to what the folder pins. It is a file, since commander reads
    // the arguments of `node -e` otherwise.
    const start = join(own, "start.cjs");
    writeFileSync(start, `require(${JSON.stringify(program)}).run("serving");\n`);
    const plan = async (...more: string[]) =>
      run([process.execPath, start, "plan", "--file", file, ...more], {
        cwd: folder,
        seconds: PLAN_SECONDS,
        largest: LARGEST,
      });
    // Code 1 is a plan that a policy of the release refuses: it is shown as well.
    const isShown = ({ code, out }: Ran) => code === 0 || (code === 1 && out !== "");
    const compared = await plan("--against", "applied", "--format", "markdown");
    // Before the first `up` there is nothing to compare with.
    const ran = isShown(compared) ? compared : await plan();
    if (isShown(ran)) return ran.out.trim();
    throw new Failed(`${spec} can't plan ${file}: ${lastWord(ran)}`);
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

const npm = (args: readonly string[], cwd: string, seconds: number): Promise<Ran> =>
  run(["npm", ...args], { cwd, seconds, largest: LARGEST });

/** What a program said last; why it didn't start, where it said nothing. */
function lastWord({ err, out, notStarted, stopped, code }: Ran): string {
  if (notStarted !== undefined) return `it can't be started (${notStarted}).`;
  if (stopped === "timeout") return "it took too long.";
  return lastWords(`${out}\n${err}`) || `it ended with code ${code}.`;
}
