import { diagnoses } from "../diagnoses";

/** Every sign that some diagnosis looks for. */
export const SIGNS = diagnoses.flatMap((each) => each.signs);
