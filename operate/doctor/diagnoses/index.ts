import type { Diagnosis } from "../diagnosis";
import { admission } from "./admission";
import { bridge } from "./bridge";
import { build } from "./build";
import { client } from "./client";
import { containers } from "./containers";
import { environment } from "./environment";
import { jit } from "./jit";
import { killings } from "./killed";
import { kvRoom } from "./kvRoom";
import { memory } from "./memory";
import { messagesPath } from "./messagesPath";
import { modelFiles } from "./modelFiles";
import { network } from "./network";
import { parsers } from "./parsers";
import { profiling } from "./profiling";
import { simpleServer } from "./simpleServer";
import { stackFile } from "./stackFile";

/** Every trouble that is known, in the order in which findings are shown: what stops a start comes first. */
export const diagnoses: readonly Diagnosis[] = [
  ...stackFile,
  ...admission,
  ...kvRoom,
  ...profiling,
  ...memory,
  ...killings,
  ...jit,
  ...build,
  ...containers,
  ...modelFiles,
  ...environment,
  ...parsers,
  ...messagesPath,
  ...bridge,
  ...client,
  ...simpleServer,
  ...network,
];
