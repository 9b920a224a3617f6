import { feature, preflightOf } from "../kind";
import { rankFaults } from "./faults";
import { gateLines } from "./gateLines";
import { judgeLink, judgeRanks } from "./judgeLink";
import { machineKeys, serverKeys } from "./keys";
import { place } from "./placement";
import { type LinkFacts, rankPorts, readLink } from "./readLink";
import { lines, row, warnings } from "./texts";

/** A server over several machines: a model that none of them could serve alone. */
export const ranks = feature({
  settings: { server: serverKeys, machine: machineKeys },
  faults: rankFaults,
  place,
  gateLines,
  warnings,
  texts: { row, lines },
  preflight: preflightOf<LinkFacts>({
    ports: rankPorts,
    read: (machine, files, meminfo) => readLink(machine, files, { meminfo }),
    judge: judgeLink,
    judgeAll: judgeRanks,
  }),
});
