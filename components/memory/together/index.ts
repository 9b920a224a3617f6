/** The door of what may run at once, of sets of servers that are given as data. */
export {
  alternatives,
  largestOf,
  largestSet,
  leftBeside,
  mayRun,
  setsWith,
  stopsFor,
  type Together,
  together,
  togetherNotes,
} from "./together";
