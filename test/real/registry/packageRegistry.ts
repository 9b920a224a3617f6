import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../layers/freePort";
import { mustRun } from "../../layers/run";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { packed } from "../../package/packed";
import { serveUntilReady } from "../process";

/** Variables of the npm that runs the tests would be settings of the npm that is tested. */
const WITHOUT_NPM = Object.fromEntries(
  Object.keys(process.env)
    .filter((name) => /^npm_/i.test(name))
    .map((name) => [name, undefined]),
);

export interface PackageRegistry {
  /** Variables by which npm asks this registry, with a home of its own and nothing in its cache. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: () => string;
  publish(version: string): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a registry on loopback that has local-serving alone. It takes every other package from the
 * registry of this machine's npm settings.
 */
export async function startPackageRegistry(verdaccio: string): Promise<PackageRegistry> {
  const folder = temporaryFolder("registry-");
  const home = temporaryFolder("registry-home-");
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  const npmSettings = join(folder, "npmrc");
  // npm publishes nothing without a token; this registry lets everybody publish.
  writeFileSync(npmSettings, `registry=${url}/\n//${address}/:_authToken=anybody\n`);
  const config = join(folder, "config.json");
  const usual = await mustRun("npm", ["config", "get", "registry"]);
  // The program reads YAML, of which JSON is a part.
  writeFileSync(
    config,
    JSON.stringify({
      storage: join(folder, "storage"),
      auth: { htpasswd: { file: join(folder, "htpasswd") } },
      uplinks: { usual: { url: usual } },
      packages: {
        "local-serving": { access: "$all", publish: "$all" },
        "**": { access: "$all", proxy: "usual" },
      },
      log: { type: "stdout", format: "pretty", level: "warn" },
    }),
  );
  const { NODE_EXTRA_CA_CERTS, PATH = "" } = process.env;
  const serving = await serveUntilReady(
    process.execPath,
    [verdaccio, "--config", config, "--listen", address],
    {
      env: {
        PATH,
        HOME: folder,
        ...(NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS }),
      },
      cwd: folder,
      url: `${url}/-/ping`,
      seconds: 60,
    },
  );
  const env = { ...WITHOUT_NPM, HOME: home, npm_config_userconfig: npmSettings };
  const publish = async (version: string) => {
    await mustRun("npm", ["publish", await packed(version)], { cwd: folder, env });
  };
  return { env, log: serving.log, publish, stop: serving.stop };
}
