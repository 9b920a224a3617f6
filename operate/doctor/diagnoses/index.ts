import { type Row, toldByALine, type Weighed } from "../diagnosis";
import { bridgeDiagnoses } from "./bridge";
import { client } from "./client";
import { containers } from "./containers";
import { environment } from "./environment";
import { gpu } from "./gpu";
import { hub } from "./hub";
import { killings } from "./killed";
import { type Diagnosis, KNOWN, rowOf } from "./known";
import { memory } from "./memory";
import { model } from "./model";
import { network } from "./network";
import { onDemandDiagnoses } from "./onDemand";
import { ranks } from "./ranks";
import { room } from "./room";
import { stackFileDiagnoses } from "./stackFile";

// Whoever loads the diagnoses has made all of their signs.
export { SIGNS } from "../../sees/log/sign";

const coded: readonly (Weighed | Row)[] = [
  ...stackFileDiagnoses,
  ...room,
  ...memory,
  ...killings,
  ...ranks,
  ...containers,
  ...gpu,
  ...model,
  ...environment,
  ...hub,
  ...bridgeDiagnoses,
  ...client,
  ...network,
  ...onDemandDiagnoses,
];

/** Every known trouble, in the order in which it is shown. */
export const diagnoses: readonly Diagnosis[] = KNOWN.map(({ line, ...about }) => {
  const told = line === undefined ? coded.find(({ id }) => id === about.id) : rowOf(about.id, line);
  if (told === undefined)
    throw new Error(`${about.id} of known.yaml has no \`line\`, and no code explains it.`);
  return { ...about, ...("when" in told ? toldByALine(told) : told) };
});
