import { config } from "zod";

// Compiling a schema pays off after thousands of documents, and a run of ours reads a few.
config({ jitless: true });
