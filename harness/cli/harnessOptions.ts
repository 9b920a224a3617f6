import { InvalidArgumentError, Option } from "commander";
import { DEFAULT_HARNESS, type Harness, PREFIX_FORM } from "../harness";

/** Which harness reads the files: its variables' prefix. */
export function prefixOption(): Option {
  return new Option("--prefix <prefix>", "what the harness's environment variables begin with")
    .default(DEFAULT_HARNESS.prefix)
    .env("SERVING_HARNESS_PREFIX")
    .argParser((text: string): string => {
      if (PREFIX_FORM.test(text)) return text;
      throw new InvalidArgumentError("Expected the start of a variable's name, such as HX_.");
    });
}

/** Which harness reads the files: its per-user folder. */
export function homeOption(): Option {
  return new Option("--home <dir>", "the harness's per-user folder")
    .default(DEFAULT_HARNESS.home)
    .env("SERVING_HARNESS_HOME");
}

/** What the two options give. */
export type HarnessOptions = Harness;
