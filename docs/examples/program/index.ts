import { LocalServing } from "local-serving";
import { machines } from "./machines";

// Machines are planned and judged here as those of a stack file. What `up` would refuse is a warning
// of `pulumi preview`, and a refused `pulumi up` ends before the first resource of this component.
const serving = new LocalServing("serving", { settings: machines });

export const endpoints = serving.endpoints;
export const memory = serving.memory;
export const clients = serving.clients;
