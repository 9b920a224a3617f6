import { config } from "zod";

// Compiling a schema pays off after thousands of documents, and a run of ours reads a few.
// Each program imports this first, since a schema that is made before this line is compiled.
config({ jitless: true });
