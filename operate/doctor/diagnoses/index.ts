import { type Diagnosis, type Row, toldByALine } from "../diagnosis";
import { bridge } from "./bridge";
import { build } from "./build";
import { client } from "./client";
import { containers } from "./containers";
import { environment } from "./environment";
import { killings } from "./killed";
import { memory } from "./memory";
import { modelFiles } from "./modelFiles";
import { network } from "./network";
import { parsers } from "./parsers";
import { ranks } from "./ranks";
import { room } from "./room";
import { stackFile } from "./stackFile";

// Whoever loads the diagnoses has made all of their signs.
export { SIGNS } from "../sign";

const families: readonly (readonly (Diagnosis | Row)[])[] = [
  stackFile,
  room,
  memory,
  killings,
  ranks,
  build,
  containers,
  modelFiles,
  environment,
  parsers,
  bridge,
  client,
  network,
];

/** Every known trouble, in the order in which it is shown: what stops a start comes first. */
export const diagnoses: readonly Diagnosis[] = families
  .flat()
  .map((each) => ("when" in each ? toldByALine(each) : each));
