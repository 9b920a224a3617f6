/** The door of releases: which versions of a package may run, and how two of them compare. */
export {
  atLeast,
  FLOORS,
  isPep440,
  KNOWN_SERIES,
  lowestAllowed,
  REFUSED_IN_SERVERS,
  refusalOf,
  releaseName,
  sameRelease,
  transformersFor,
  whyRefused,
} from "./releases";
