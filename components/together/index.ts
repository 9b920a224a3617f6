/** The door of what may run at once, of sets of servers that are given as data. */
export {
  alternatives,
  largestSet,
  leftBeside,
  mayRun,
  setsWith,
  stopsFor,
} from "./together";
