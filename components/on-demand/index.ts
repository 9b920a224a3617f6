/** The door of models on demand: how llama-swap's program comes to a machine. */
export { partOfArchive, programWords } from "./programOnMachine";
